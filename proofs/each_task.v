(* Which tasks of a fixed list are good, by Holm's procedure: docs/theory.md, section 22.2.

   The rollouts of all tasks together are one draw from D, so tasks may depend on each other. [passes i r] says that the
   lower bound of task i at level delta / r is at least the threshold. *)

From mathcomp Require Import all_ssreflect all_algebra.
From jaxcert Require Import law.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section EachTask.
Variables (R : realFieldType) (Data : finType) (n : nat) (D : law R Data) (bad : {set 'I_n}).
Variables (passes : 'I_n -> nat -> pred Data) (delta : R).
Hypothesis delta_ge0 : 0 <= delta.
Hypothesis bad_passes_seldom : forall i r, i \in bad -> (0 < r)%N -> Pr D (passes i r) <= delta / r%:R.
Hypothesis bounds_grow_with_the_level : forall i r q d, (q <= r)%N -> passes i r d -> passes i q d.

(* With the tasks in A named, those are named, too, that pass at delta over the number of the others. *)
Definition name_more d (A : {set 'I_n}) := A :|: [set i | passes i (n - #|A|) d].
Definition named steps d := iter steps (name_more d) set0.

(* With probability at least 1 - delta no bad task passes at delta over their number. *)
Lemma no_bad_passes : Pr D (fun d => [exists i, (i \in bad) && passes i #|bad| d]) <= delta.
Proof.
apply: le_trans (Pr_exists _ (fun i d => (i \in bad) && passes i #|bad| d)) _.
apply: (@le_trans _ _ (\sum_(i in bad) delta / #|bad|%:R)).
  rewrite [X in _ <= X]big_mkcond /=; apply: ler_sum => i _; case: ifP => ibad; last by rewrite Pr_none.
  by apply: bad_passes_seldom => //; apply/card_gt0P; exists i.
rewrite sumr_const; case: (posnP #|bad|) => [->|some]; first by rewrite mulr0n.
by rewrite -mulr_natr divfK // pnatr_eq0 -lt0n.
Qed.

(* Where that holds, no bad task is ever named. *)
Lemma named_good steps d :
  ~~ [exists i, (i \in bad) && passes i #|bad| d] -> [disjoint named steps d & bad].
Proof.
rewrite negb_exists => /forallP none; rewrite /named.
elim: steps => [|steps] /=; first by rewrite disjoints_subset sub0set.
move: (iter _ _ _) => A disjoint; rewrite disjoints_subset; apply/subsetP => i.
rewrite in_setC in_setU inE => /orP[iA|pass]; first by rewrite (disjointFr disjoint).
have enough : (#|bad| <= n - #|A|)%N.
  rewrite leq_subRL; last by rewrite -[X in (_ <= X)%N]card_ord max_card.
  by rewrite -cardsUI disjoint_setI0 // cards0 addn0 -[X in (_ <= X)%N]card_ord max_card.
by apply: contraT => /negPn ibad; have := none i; rewrite ibad (bounds_grow_with_the_level enough pass).
Qed.

(* After any number of steps, until no more come or earlier. *)
Theorem each_task_certificate (steps : Data -> nat) : Pr D (fun d => ~~ [disjoint named (steps d) d & bad]) <= delta.
Proof. by apply: le_trans no_bad_passes; apply: le_Pr => d; apply: contraR; apply: named_good. Qed.

End EachTask.
