(* The binomial certificate: docs/theory.md, sections 2.1 to 2.3 and 12.2.

   Tasks are drawn independently from D. All rollouts of task i together are one draw from [rollouts i t], where t is
   the task that was drawn: their number, and the bound that is computed from them, may differ from task to task. *)

From mathcomp Require Import all_ssreflect all_algebra.
From jaxcert Require Import law coins.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Experiment.
Variables (R : realFieldType) (Task Data : finType) (n : nat).
Variables (D : law R Task) (rollouts : 'I_n -> Task -> law R Data).

(* The n tasks with their rollouts. *)
Definition experiment := independent (fun i => joint D (rollouts i)).

(* Any rule by which a bad task passes seldom: task i with probability at most beta i. *)
Section Violations.
Variables (bad : pred Task) (pass : 'I_n -> pred Data) (beta : 'I_n -> R).
Hypothesis beta_probability : forall i, probability (beta i).
Hypothesis bad_passes_seldom : forall i t, bad t -> Pr (rollouts i t) (pass i) <= beta i.

Let risk := Pr D bad.

Definition violations (w : {ffun 'I_n -> Task * Data}) := #|[set i | ~~ pass i (w i).2]|.

Lemma violations_le w : (violations w <= n)%N.
Proof. by rewrite -[X in (_ <= X)%N]card_ord max_card. Qed.

(* Thinning: a task is bad and a violation at least so often. *)
Theorem thinning i : risk * (1 - beta i) <= Pr (joint D (rollouts i)) (fun x => ~~ pass i x.2).
Proof.
rewrite Pr_joint /risk /Pr mulr_suml [X in _ <= X](bigID bad) /= -[X in X <= _]addr0; apply: ler_add.
  apply: ler_sum => t tbad; rewrite ler_wpmul2l ?mass_ge0 //.
  by rewrite -/(Pr _ _) Pr_not ler_add2l ler_opp2 bad_passes_seldom.
by apply: sumr_ge0 => t _; rewrite mulr_ge0 ?mass_ge0 ?Pr_ge0.
Qed.

Let coins_probability e : 0 <= e -> e <= 1 -> all (@probability R) [seq e * (1 - beta i) | i <- enum 'I_n].
Proof.
move=> e0 e1; rewrite all_map; apply/allP => i _ /=; case/andP: (beta_probability i) => b0 b1.
by rewrite /probability mulr_ge0 ?mulr_ile1 ?subr_ge0 // ger_addl oppr_le0.
Qed.

(* Few violations are as unlikely as few heads of independent coins. *)
Theorem few_violations e k : 0 <= e -> e <= risk ->
  Pr experiment (fun w => violations w <= k)%N <= at_most [seq e * (1 - beta i) | i <- enum 'I_n] k.
Proof.
move=> e0 eR; rewrite /experiment (Pr_count _ (fun i x => ~~ pass i x.2)).
apply: at_most_le; first by apply: coins_probability; rewrite // (le_trans eR) ?Pr_le1.
  by rewrite all_map; apply/allP => i _ /=; rewrite /probability Pr_ge0 Pr_le1.
elim: (enum _) => //= i s ->; rewrite andbT (le_trans _ (thinning i)) //.
by rewrite ler_wpmul2r // subr_ge0; case/andP: (beta_probability i).
Qed.

(* A certificate by the number of violations holds, if every larger risk makes so few violations unlikely: it is the
   supremum of the risks that do not, or more. *)
Theorem certificate_unequal (eps_hat : nat -> R) delta : 0 <= delta ->
    (forall k e, (k <= n)%N -> probability e -> eps_hat k < e ->
      at_most [seq e * (1 - beta i) | i <- enum 'I_n] k <= delta) ->
  Pr experiment (fun w => eps_hat (violations w) < risk) <= delta.
Proof.
move=> delta0 safe; set fails := fun k => (k <= n)%N && (eps_hat k < risk).
apply: le_trans (@Pr_fails _ _ _ violations fails _ delta0 _) => [|k /andP[kn lt]].
  by apply: le_Pr => w lt; rewrite /fails violations_le.
apply: le_trans (few_violations k (Pr_ge0 _ _) (lexx _)) _.
by apply: safe; rewrite // /probability Pr_ge0 Pr_le1.
Qed.

(* What can be checked at each k with whole numbers: either nothing is certified, or so few violations are unlikely at
   the certified risk itself. *)
Theorem certificate_checked (eps_hat : nat -> R) delta : 0 <= delta ->
    (forall k, (k <= n)%N ->
      1 <= eps_hat k \/ 0 <= eps_hat k /\ at_most [seq eps_hat k * (1 - beta i) | i <- enum 'I_n] k <= delta) ->
  Pr experiment (fun w => eps_hat (violations w) < risk) <= delta.
Proof.
move=> delta0 checked; apply: certificate_unequal => // k e kn /andP[e0 e1] lt.
case: (checked k kn) => [le1|[hat0]]; first by case/negP: (lt_geF (le_lt_trans le1 lt)).
apply: le_trans; apply: at_most_le; try exact: coins_probability.
  by apply: coins_probability; rewrite // (le_trans (ltW lt)).
elim: (enum _) => //= i s ->; rewrite andbT ler_wpmul2r ?(ltW lt) // subr_ge0.
by case/andP: (beta_probability i).
Qed.

(* Nothing is lost where bad tasks pass exactly so often, and others always. *)
Theorem worst_case k :
    (forall i t, bad t -> Pr (rollouts i t) (pass i) = beta i) ->
    (forall i t, ~~ bad t -> Pr (rollouts i t) (pass i) = 1) ->
  Pr experiment (fun w => violations w <= k)%N = at_most [seq risk * (1 - beta i) | i <- enum 'I_n] k.
Proof.
move=> exactly always; rewrite /experiment (Pr_count _ (fun i x => ~~ pass i x.2)); congr at_most; apply: eq_map => i.
rewrite Pr_joint /risk /Pr mulr_suml [LHS](bigID bad) /= [X in _ + X]big1 ?addr0 => [|t tgood].
  by apply: eq_bigr => t tbad; rewrite -/(Pr _ _) Pr_not exactly.
by rewrite -/(Pr _ _) Pr_not always // subrr mulr0.
Qed.

(* So no smaller certificate of this form holds: g fails too often, where its value at k0 is below a risk at which k0
   violations or fewer are not that unlikely. *)
Theorem cannot_be_improved (g : nat -> R) delta k0 :
    (forall i t, bad t -> Pr (rollouts i t) (pass i) = beta i) ->
    (forall i t, ~~ bad t -> Pr (rollouts i t) (pass i) = 1) ->
    {homo g : j k / (j <= k)%N >-> j <= k} -> g k0 < risk ->
    delta < at_most [seq risk * (1 - beta i) | i <- enum 'I_n] k0 ->
  delta < Pr experiment (fun w => g (violations w) < risk).
Proof.
move=> exactly always increases below; rewrite -worst_case // => likely.
by apply: lt_le_trans likely _; apply: le_Pr => w /increases le; apply: le_lt_trans le below.
Qed.

End Violations.
End Experiment.

Lemma at_most_equal (R : realFieldType) n (e beta : R) k :
  at_most [seq e * (1 - beta) | _ <- enum 'I_n] k = binomial_at_most n (e * (1 - beta)) k.
Proof. by rewrite map_const size_enum_ord at_most_nseq. Qed.

(* The certificates of docs/theory.md. J t is the performance in task t, and L i the lower bound that is computed from
   the rollouts of task i. Each theorem says that the certified risk is below the true one with probability at most
   delta. *)
Section Binomial.
Variables (R : realFieldType) (Task Data : finType) (n : nat).
Variables (D : law R Task) (rollouts : 'I_n -> Task -> law R Data).
Variables (J : Task -> R) (L : 'I_n -> Data -> R) (beta delta : R).

Definition valid := forall i t, 1 - beta <= Pr (rollouts i t) (fun d => L i d <= J t).
Definition risk B := Pr D (fun t => J t < B).
Definition num_violations B (w : {ffun 'I_n -> Task * Data}) := #|[set i | ~~ (B <= L i (w i).2)]|.

Lemma valid_passes_seldom B : valid -> forall i t, J t < B -> Pr (rollouts i t) (fun d => B <= L i d) <= beta.
Proof.
move=> ok i t bad; apply: le_trans (_ : 1 - Pr (rollouts i t) (fun d => L i d <= J t) <= _).
  by rewrite -Pr_not; apply: le_Pr => d le; rewrite -ltNge (lt_le_trans bad).
by rewrite ler_subl_addr addrC -ler_subl_addr.
Qed.

Hypothesis delta_ge0 : 0 <= delta.
Hypothesis beta_probability : probability beta.
Hypothesis bounds_valid : valid.

Theorem binomial_certificate B (eps_hat : nat -> R) :
    (forall k, (k <= n)%N ->
      1 <= eps_hat k \/ 0 <= eps_hat k /\ binomial_at_most n (eps_hat k * (1 - beta)) k <= delta) ->
  Pr (experiment D rollouts) (fun w => eps_hat (num_violations B w) < risk B) <= delta.
Proof.
move=> checked; apply: (@certificate_checked _ _ _ _ _ _ (fun t => J t < B) (fun i d => B <= L i d) (fun=> beta)) => //.
  by move=> i t; apply: valid_passes_seldom.
by move=> k /checked; rewrite at_most_equal.
Qed.

(* U k is at least the supremum of the p at which at most k of n are not unlikely. *)
Definition is_limit (U : nat -> R) :=
  forall k p, (k <= n)%N -> probability p -> delta < binomial_at_most n p k -> p <= U k.

(* The Clopper-Pearson limit, which solves the equation in section 2. *)
Lemma clopper_pearson_is_limit (U : nat -> R) :
  (forall k, (k < n)%N -> 0 <= U k /\ binomial_at_most n (U k) k = delta) -> U n = 1 -> is_limit U.
Proof.
move=> solves Un k p kn /andP[p0 p1]; case: (ltngtP k n) kn => // [{}kn _|-> _ _]; last by rewrite Un.
rewrite leNgt; case: (solves k kn) => U0 <-; apply: contraL => lt; rewrite -leNgt.
by apply: binomial_at_most_le => //; apply: ltW.
Qed.

Theorem clopper_pearson_certificate B (U : nat -> R) : beta < 1 -> is_limit U ->
  Pr (experiment D rollouts) (fun w => Num.min 1 (U (num_violations B w) / (1 - beta)) < risk B) <= delta.
Proof.
move=> beta1 limit; case/andP: beta_probability => b0 b1.
apply: (@certificate_unequal _ _ _ _ _ _ (fun t => J t < B) (fun i d => B <= L i d) (fun=> beta) _ _
  (fun k => Num.min 1 (U k / (1 - beta)))) => // [i t|k e kn]; first exact: valid_passes_seldom.
case/andP => e0 e1.
rewrite lt_minl ltNge e1 /= ltr_pdivr_mulr ?subr_gt0 // at_most_equal leNgt => lt.
apply: contraL lt => /limit le; rewrite -leNgt le //.
by rewrite /probability mulr_ge0 ?subr_ge0 //= mulr_ile1 ?subr_ge0 // ger_addl oppr_le0.
Qed.

(* The threshold may be found from the data, for a safety that was fixed: no more than k_star bounds are below it. *)
Theorem safety_level_certificate (safety : R) (k_star : nat) (B_hat : {ffun 'I_n -> Task * Data} -> R) :
    probability safety ->
    binomial_at_most n ((1 - safety) * (1 - beta)) k_star <= delta ->
    (forall w, risk (B_hat w) <= 1 - safety \/ (num_violations (B_hat w) w <= k_star)%N) ->
  Pr (experiment D rollouts) (fun w => 1 - safety < risk (B_hat w)) <= delta.
Proof.
case/andP => s0 s1 unlikely found.
case: (pickP (fun w => 1 - safety < risk (B_hat w))) => [w0 w0P|none]; last first.
  by rewrite Pr_none // => w; rewrite none.
case: (@arg_minP _ _ _ w0 (fun w => 1 - safety < risk (B_hat w)) B_hat w0P) => w wP least; apply: le_trans unlikely.
have w_risk : 1 - safety <= risk (B_hat w) by apply: ltW.
have s01 : 0 <= 1 - safety by rewrite subr_ge0.
have := few_violations (fun=> beta_probability) (valid_passes_seldom bounds_valid (B := B_hat w)) k_star s01 w_risk.
rewrite at_most_equal; apply: le_trans; apply: le_Pr => w' lt.
case: (found w') => [le|]; first by rewrite ltNge le in lt.
apply: leq_trans; apply: subset_leq_card; apply/subsetP => i; rewrite !inE -!ltNge.
by move=> below; apply: lt_le_trans below (least _ lt).
Qed.

End Binomial.
