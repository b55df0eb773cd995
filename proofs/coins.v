(* How many of independent events happen: tails of the binomial distribution and of sums of unequal coins. *)

From mathcomp Require Import all_ssreflect all_algebra.
From jaxcert Require Import law.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Coins.
Variable R : realFieldType.
Implicit Types (p q : R) (ps qs : seq R) (k n : nat).

(* The probability that of independent coins, with these probabilities of heads, at most k show heads. *)
Fixpoint at_most ps k : R :=
  if ps is p :: ps' then (1 - p) * at_most ps' k + p * (if k is k'.+1 then at_most ps' k' else 0) else 1.

(* P[Bin(n, p) <= k] *)
Definition binomial_at_most n p k : R := \sum_(j < k.+1) 'C(n, j)%:R * p ^+ j * (1 - p) ^+ (n - j).

(* P[Bin(n, p) >= k] *)
Definition binomial_at_least n p k : R := \sum_(j < n.+1 | (k <= j)%N) 'C(n, j)%:R * p ^+ j * (1 - p) ^+ (n - j).

Definition probability p := 0 <= p <= 1.

(* Both are coefficients of one polynomial, whose j-th coefficient is the probability of j heads. *)
Let heads ps : {poly R} := \prod_(p <- ps) ((1 - p)%:P + p *: 'X).

Lemma at_most_coef ps k : at_most ps k = \sum_(j < k.+1) (heads ps)`_j.
Proof.
elim: ps k => [|p ps IH] k /=.
  by rewrite /heads big_nil big_ord_recl coef1 big1 ?addr0 // => i _; rewrite coef1.
rewrite /heads big_cons -/(heads ps) IH.
under [RHS]eq_bigr do rewrite mulrDl coefD mul_polyC coefZ -scalerAl coefZ coefXM.
rewrite big_split -!mulr_sumr /=; congr (_ + p * _); rewrite big_ord_recl add0r.
by case: k => [|k]; rewrite ?big_ord0 // IH.
Qed.

Lemma at_most_nseq n p k : at_most (nseq n p) k = binomial_at_most n p k.
Proof.
rewrite at_most_coef; apply: eq_bigr => j _.
have ->: heads (nseq n p) = ((1 - p)%:P + p *: 'X) ^+ n.
  by rewrite /heads big_nseq -Monoid.iteropE.
rewrite exprDn coef_sum.
have coefj (i : 'I_n.+1) :
    (((1 - p)%:P ^+ (n - i) * (p *: 'X) ^+ i) *+ 'C(n, i))`_j
    = ((i : nat) == j)%:R * ('C(n, i)%:R * p ^+ i * (1 - p) ^+ (n - i)).
  rewrite coefMn -polyC_exp mul_polyC coefZ exprZn coefZ coefXn eq_sym; case: eqP => _.
    by rewrite mulr1 mul1r -mulr_natl mulrA mulrAC.
  by rewrite !mulr0 mul0r mul0rn.
rewrite (eq_bigr _ (fun i _ => coefj i)); case: (leqP j n) => [jn|nj].
  rewrite (bigD1 (inord j)) //= inordK ?ltnS // eqxx mul1r big1 ?addr0 // => i.
  by rewrite -val_eqE /= inordK ?ltnS // => /negbTE ->; rewrite mul0r.
rewrite bin_small // !mul0r big1 // => i _.
by rewrite (ltn_eqF (leq_ltn_trans _ nj)) ?mul0r // -ltnS.
Qed.

Lemma perm_at_most ps qs k : perm_eq ps qs -> at_most ps k = at_most qs k.
Proof. by move=> eq; rewrite !at_most_coef /heads (perm_big _ eq). Qed.

Lemma map_const (T : Type) (s : seq T) p : [seq p | _ <- s] = nseq (size s) p.
Proof. by elim: s => //= _ s ->. Qed.

(* Coins that never show heads do not count. *)
Lemma at_most_among (T : finType) (A : {set T}) (p : T -> R) k :
  at_most [seq if i \in A then p i else 0 | i <- enum T] k = at_most [seq p i | i <- enum A] k.
Proof.
transitivity (at_most [seq p i | i <- [seq i <- enum T | i \in A]] k); last first.
  apply/perm_at_most/perm_map/uniq_perm; [exact/filter_uniq/enum_uniq | exact: enum_uniq | move=> i].
  by rewrite mem_filter !mem_enum andbT.
elim: (enum T) k => //= i s IH k; case: (i \in A) => /=; last by rewrite subr0 mul1r mul0r addr0 IH.
by rewrite IH; case: k => // k; rewrite IH.
Qed.

(* The number of independent events that happen is a sum of coins. *)
Theorem Pr_count (T : finType) n (X : 'I_n -> law R T) (E : 'I_n -> pred T) k :
  Pr (independent X) (fun w => #|[set i | E i (w i)]| <= k)%N = at_most [seq Pr (X i) (E i) | i <- enum 'I_n] k.
Proof.
rewrite at_most_coef /heads big_map big_enum /=.
have ->: \prod_i ((1 - Pr (X i) (E i))%:P + Pr (X i) (E i) *: 'X)
    = \prod_i \sum_t X i t *: 'X^(E i t).
  apply: eq_bigr => i _; rewrite -Pr_not /Pr (bigID (E i) xpredT) /= addrC !rmorph_sum scaler_suml.
  by congr (_ + _); apply: eq_bigr => t; [move=> -> | move/negbTE => ->]; rewrite (expr1, expr0) ?alg_polyC.
rewrite (bigA_distr_bigA (fun i t => X i t *: 'X^(E i t))) /= Pr_sum.
under [RHS]eq_bigr do rewrite coef_sum.
rewrite exchange_big; apply: eq_bigr => w _ /=.
have ->: \prod_i (X i (w i) *: 'X^(E i (w i))) = (\prod_i X i (w i)) *: 'X^#|[set i | E i (w i)]| :> {poly R}.
  rewrite scaler_prod -expr_sum; congr (_ *: 'X^_).
  by rewrite cardsE -sum1_card [RHS]big_mkcond; apply: eq_bigr => i _; rewrite unfold_in; case: (E i (w i)).
under [RHS]eq_bigr do rewrite coefZ coefXn.
case: leqP => [le|gt] /=; last first.
  by rewrite mul0r big1 // => j _; rewrite ltn_eqF ?mulr0 // (leq_ltn_trans _ gt) // -ltnS.
rewrite mul1r (bigD1 (inord #|[set i | E i (w i)]|)) //= inordK // eqxx mulr1 [X in _ + X]big1 ?addr0 // => j.
by rewrite -val_eqE /= inordK // => /negbTE ->; rewrite mulr0.
Qed.

(* Monotone: in the number allowed, in the number of coins, and in each probability. *)
Let before ps k := if k is k'.+1 then at_most ps k' else 0.

Let mix p (x y : R) : (1 - p) * x + p * y = x - p * (x - y).
Proof. by rewrite mulrBl mul1r mulrBr opprB addrA addrAC. Qed.

Lemma at_most_ge0 ps k : all probability ps -> 0 <= at_most ps k.
Proof.
elim: ps k => [|p ps IH] k /=; first by rewrite ler01.
case/andP => /andP[p0 p1] /IH ps0.
by rewrite addr_ge0 // mulr_ge0 ?subr_ge0 //; case: k.
Qed.

Lemma before_le ps k : all probability ps -> before ps k <= at_most ps k.
Proof.
elim: ps k => [|p ps IH] k /=; first by case: k => [|k] _; rewrite ?ler01.
case/andP => /andP[p0 p1] psP; have ge0 j := at_most_ge0 j psP.
case: k => [|k]; first by rewrite /= mulr0 addr0 mulr_ge0 ?subr_ge0.
apply: ler_add; first by rewrite ler_wpmul2l ?subr_ge0 //; apply: (IH k.+1).
by rewrite ler_wpmul2l //; apply: IH.
Qed.

Lemma at_most_cons p ps k : all probability (p :: ps) -> at_most (p :: ps) k <= at_most ps k.
Proof.
case/andP => /andP[p0 p1] psP; rewrite /= mix ger_addl oppr_le0 mulr_ge0 // subr_ge0.
exact: before_le.
Qed.

Lemma at_most_consS p ps k : all probability (p :: ps) -> at_most ps k <= at_most (p :: ps) k.+1.
Proof.
case/andP => /andP[p0 p1] psP; rewrite /= mix ler_subr_addr -ler_subr_addl ler_pimull //.
by rewrite subr_ge0; apply: (@before_le ps k.+1).
Qed.

Lemma at_most_catS qs ps k :
  all probability qs -> all probability ps -> at_most ps k <= at_most (qs ++ ps) (size qs + k).
Proof.
elim: qs => //= q qs IH /andP[qP qsP] psP; apply: le_trans (IH qsP psP) _.
by apply: at_most_consS; rewrite /= qP all_cat qsP.
Qed.

Theorem at_most_le ps qs k :
  all probability ps -> all probability qs -> all2 <=%R ps qs -> at_most qs k <= at_most ps k.
Proof.
elim: ps qs k => [|p ps IH] [|q qs] k //= /andP[/andP[p0 p1] psP] /andP[/andP[q0 q1] qsP] /andP[pq le].
apply: (@le_trans _ _ ((1 - q) * at_most ps k + q * before ps k)).
  apply: ler_add; rewrite ler_wpmul2l ?subr_ge0 ?IH //.
  by case: k => //= k; rewrite IH.
by rewrite !mix ler_add2l ler_opp2 ler_wpmul2r // subr_ge0 before_le.
Qed.

Corollary binomial_at_most_le n p q k : 0 <= p -> p <= q -> q <= 1 -> binomial_at_most n q k <= binomial_at_most n p k.
Proof.
move=> p0 pq q1; rewrite -!at_most_nseq; apply: at_most_le; rewrite ?all_nseq /probability.
- by rewrite p0 (le_trans pq) // orbT.
- by rewrite q1 (le_trans p0) // orbT.
- by elim: n => //= n ->; rewrite pq.
Qed.

End Coins.
