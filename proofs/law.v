(* Finite probability: laws, events, independent draws.

   R is any ordered field, so the theorems hold for the rationals and for the reals. Tasks and rollouts come from finite
   sets; the sets may be as large as one likes. *)

From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* A probability distribution on a finite set. *)
Record law (R : realFieldType) (T : finType) := Law {
  mass :> T -> R;
  mass_ge0 : forall t, 0 <= mass t;
  mass_sum : \sum_t mass t = 1
}.

(* The probability of an event. *)
Definition Pr (R : realFieldType) (T : finType) (D : law R T) (E : pred T) : R := \sum_(t | E t) D t.

Section Events.
Variables (R : realFieldType) (T : finType) (D : law R T).
Implicit Types E F : pred T.

Lemma Pr_ge0 E : 0 <= Pr D E.
Proof. by apply: sumr_ge0 => t _; apply: mass_ge0. Qed.

Lemma eq_Pr E F : E =1 F -> Pr D E = Pr D F.
Proof. by move=> EF; apply: eq_bigl. Qed.

Lemma Pr_sum E : Pr D E = \sum_t (E t)%:R * D t.
Proof. by rewrite /Pr big_mkcond; apply: eq_bigr => t _; case: (E t); rewrite (mul1r, mul0r). Qed.

Lemma le_Pr E F : (forall t, E t -> F t) -> Pr D E <= Pr D F.
Proof.
move=> EF; rewrite !Pr_sum; apply: ler_sum => t _.
rewrite ler_wpmul2r ?mass_ge0 // ler_nat.
by case: (E t) (EF t) => // ->.
Qed.

Lemma Pr_not E : Pr D (fun t => ~~ E t) = 1 - Pr D E.
Proof. by rewrite -(mass_sum D) [X in X - _](bigID E) /= addrC addKr. Qed.

Lemma Pr_le1 E : Pr D E <= 1.
Proof. by rewrite -subr_ge0 -Pr_not Pr_ge0. Qed.

Lemma Pr_none E : (forall t, ~~ E t) -> Pr D E = 0.
Proof. by move=> none; apply: big_pred0 => t; apply: negbTE. Qed.

(* The union bound. *)
Lemma Pr_exists (I : finType) (E : I -> pred T) : Pr D (fun t => [exists i, E i t]) <= \sum_i Pr D (E i).
Proof.
under [X in _ <= X]eq_bigr do rewrite Pr_sum.
rewrite exchange_big Pr_sum /=; apply: ler_sum => t _; rewrite -mulr_suml ler_wpmul2r ?mass_ge0 //.
case: existsP => [[i Ei]|_] /=; last by apply: sumr_ge0 => i _; apply: ler0n.
by rewrite (bigD1 i) //= Ei ler_addl; apply: sumr_ge0 => j _; apply: ler0n.
Qed.

(* A count that fails at the numbers in [fails] fails seldom, if to be at most such a number is unlikely: the largest
   number at which it fails decides. *)
Lemma Pr_fails (count : T -> nat) (fails : pred nat) (delta : R) :
    0 <= delta -> (forall k, fails k -> Pr D (fun t => (count t <= k)%N) <= delta) ->
  Pr D (fun t => fails (count t)) <= delta.
Proof.
move=> delta_ge0 unlikely; case: (pickP (fun t => fails (count t))) => [t0 t0P|none]; last first.
  by rewrite Pr_none // => t; rewrite none.
case: (@arg_maxnP T t0 (fun t => fails (count t)) count t0P) => t tP largest; apply: le_trans (unlikely _ tP).
by apply: le_Pr => t' /largest.
Qed.

End Events.

(* A draw t from D, and then a draw from K t. *)
Section Joint.
Variables (R : realFieldType) (T S : finType) (D : law R T) (K : T -> law R S).

Fact joint_ge0 (x : T * S) : 0 <= D x.1 * K x.1 x.2.
Proof. by rewrite mulr_ge0 // mass_ge0. Qed.

Fact joint_sum : \sum_(x : T * S) D x.1 * K x.1 x.2 = 1.
Proof.
rewrite -(pair_bigA _ (fun t s => D t * K t s)) /= -(mass_sum D); apply: eq_bigr => t _.
by rewrite -mulr_sumr mass_sum mulr1.
Qed.

Definition joint : law R [finType of T * S] := Law joint_ge0 joint_sum.

Lemma Pr_joint (E : pred (T * S)) : Pr joint E = \sum_t D t * Pr (K t) (fun s => E (t, s)).
Proof.
under eq_bigr do rewrite Pr_sum mulr_sumr.
by rewrite Pr_sum pair_bigA; apply: eq_bigr => -[t s] _; rewrite mulrCA.
Qed.

End Joint.

(* n independent draws, the i-th from X i. *)
Section Independent.
Variables (R : realFieldType) (T : finType) (n : nat) (X : 'I_n -> law R T).

Fact independent_ge0 (w : {ffun 'I_n -> T}) : 0 <= \prod_i X i (w i).
Proof. by apply: prodr_ge0 => i _; apply: mass_ge0. Qed.

Fact independent_sum : \sum_(w : {ffun 'I_n -> T}) \prod_i X i (w i) = 1.
Proof. by rewrite -(bigA_distr_bigA (fun i t => X i t)) big1 // => i _; apply: mass_sum. Qed.

Definition independent : law R [finType of {ffun 'I_n -> T}] := Law independent_ge0 independent_sum.

End Independent.
