(* Successes at attained levels: docs/theory.md, sections 12.1 and 12.2.

   A rollout in task t is a success with probability J t. Of up to m rollouts of task i those in [made i] were made,
   which is fixed; task i passes if at least c of these are successes. *)

From mathcomp Require Import all_ssreflect all_algebra.
From jaxcert Require Import law coins certificate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Coins.
Variable R : realFieldType.

Lemma binomial_at_least0 n (p : R) : binomial_at_least n p 0 = 1.
Proof.
rewrite -(expr1n R n) -[X in _ = X ^+ n](subrK p) exprDn; apply: eq_bigr => i _.
by rewrite -mulrA mulr_natl [p ^+ i * _]mulrC.
Qed.

Lemma binomial_at_leastS n (p : R) c : (c < n)%N -> binomial_at_least n p c.+1 = 1 - binomial_at_most n p c.
Proof.
move=> cn; rewrite -(binomial_at_least0 n p) /binomial_at_least [in RHS](bigID (fun j : 'I_n.+1 => j < c.+1)%N) /=.
rewrite /binomial_at_most (big_ord_widen n.+1 (fun j => 'C(n, j)%:R * p ^+ j * (1 - p) ^+ (n - j))) ?ltnS 1?ltnW //.
by rewrite addrAC subrr add0r; apply: eq_bigl => j; rewrite -leqNgt.
Qed.

End Coins.

Section Attained.
Variables (R : realFieldType) (Task Outcome : finType) (n m : nat).
Variables (D : law R Task) (rollout : Task -> law R Outcome) (success : pred Outcome).
Variables (made : 'I_n -> {set 'I_m}) (B : R).
Hypothesis B_probability : probability B.

Definition J t := Pr (rollout t) success.
Definition rollouts (i : 'I_n) t := independent (fun j : 'I_m => rollout t).
Definition successes (i : 'I_n) (d : {ffun 'I_m -> Outcome}) := #|[set j | (j \in made i) && success (d j)]|.

(* The level that c successes attain. *)
Definition tau i c := binomial_at_least #|made i| B c.

Lemma Pr_successes i t k :
  Pr (rollouts i t) (fun d => successes i d <= k)%N = binomial_at_most #|made i| (J t) k.
Proof.
rewrite /rollouts (Pr_count _ (fun j o => (j \in made i) && success o)) -at_most_nseq.
rewrite cardE -(map_const _ (J t)) -at_most_among.
congr at_most; apply: eq_map => j /=; case: (j \in made i) => //=; exact: Pr_none.
Qed.

Lemma tau_probability i c : probability (tau i c).
Proof.
case/andP: B_probability => B0 B1; set M := #|made i|.
have term0 (j : 'I_M.+1) : 0 <= 'C(M, j)%:R * B ^+ j * (1 - B) ^+ (M - j).
  by rewrite !mulr_ge0 ?ler0n ?exprn_ge0 ?subr_ge0.
rewrite /probability sumr_ge0 //= -(binomial_at_least0 M B) /tau /binomial_at_least.
by rewrite [X in X <= _]big_mkcond; apply: ler_sum => j _; case: ifP.
Qed.

(* A bad task passes with probability at most tau. *)
Theorem bad_passes_at_tau i c t : J t < B -> Pr (rollouts i t) (fun d => c <= successes i d)%N <= tau i c.
Proof.
move=> bad; case/andP: B_probability => _ B1.
case: c => [|c]; first by rewrite /tau binomial_at_least0 Pr_le1.
case: (leqP #|made i| c) => [few|many].
  rewrite Pr_none; first by case/andP: (tau_probability i c.+1).
  move=> d; rewrite -ltnNge ltnS (leq_trans _ few) //; apply: subset_leq_card.
  by apply/subsetP => j; rewrite inE => /andP[].
rewrite /tau binomial_at_leastS // -[X in X <= _](subKr 1) -Pr_not ler_add2l ler_opp2.
rewrite (eq_Pr _ (F := fun d => successes i d <= c)%N) => [|d]; last by rewrite -leqNgt.
by rewrite Pr_successes; apply: binomial_at_most_le => //; [apply: Pr_ge0 | apply: ltW].
Qed.

Let risk := Pr D (fun t => J t < B).
Let experiment := experiment D rollouts.
Definition num_below (c : 'I_n -> nat) (w : {ffun 'I_n -> Task * {ffun 'I_m -> Outcome}}) :=
  #|[set i | ~~ (c i <= successes i (w i).2)%N]|.

(* Each task has its own number of rollouts and its own c. *)
Theorem attained_certificate (c : 'I_n -> nat) (eps_hat : nat -> R) delta : 0 <= delta ->
    (forall k, (k <= n)%N ->
      1 <= eps_hat k \/ 0 <= eps_hat k /\ at_most [seq eps_hat k * (1 - tau i (c i)) | i <- enum 'I_n] k <= delta) ->
  Pr experiment (fun w => eps_hat (num_below c w) < risk) <= delta.
Proof.
apply: (@certificate_checked _ _ _ _ _ _ (fun t => J t < B) (fun i d => (c i <= successes i d)%N)
  (fun i => tau i (c i))) => [i|i t]; [exact: tau_probability | exact: bad_passes_at_tau].
Qed.

(* With one number of rollouts and one c for all tasks, these coins are the binomial distribution of section 12.1. *)
Lemma equal_rollouts M (c : nat) e k : (forall i, #|made i| = M) ->
  at_most [seq e * (1 - tau i c) | i <- enum 'I_n] k = binomial_at_most n (e * (1 - binomial_at_least M B c)) k.
Proof. by move=> equal; rewrite -at_most_equal; congr at_most; apply: eq_map => i; rewrite /tau equal. Qed.

(* Several c share delta, and the smallest of their certificates counts: it fails if one of them does. *)
Theorem several_levels_certificate (Level : finType) (c : Level -> 'I_n -> nat) (eps_hat : Level -> nat -> R)
    (delta : Level -> R) :
    (forall g, 0 <= delta g) ->
    (forall g k, (k <= n)%N ->
      1 <= eps_hat g k \/
      0 <= eps_hat g k /\ at_most [seq eps_hat g k * (1 - tau i (c g i)) | i <- enum 'I_n] k <= delta g) ->
  Pr experiment (fun w => [exists g, eps_hat g (num_below (c g) w) < risk]) <= \sum_g delta g.
Proof.
move=> delta0 checked; apply: le_trans (Pr_exists _ (fun g w => eps_hat g (num_below (c g) w) < risk)) _.
by apply: ler_sum => g _; apply: attained_certificate; [apply: delta0 | apply: checked].
Qed.

End Attained.
