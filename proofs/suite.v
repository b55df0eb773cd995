(* How many tasks of a fixed list are bad: docs/theory.md, section 22.1.

   The N tasks are given, and the rollouts of task i are one draw from [rollouts i], independent of all others. A bad
   task passes with probability at most beta i: of successes and tau [bad_passes_at_tau] in attained.v says so. *)

From mathcomp Require Import all_ssreflect all_algebra.
From jaxcert Require Import law coins.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma perm_enum_split (T : finType) (A B : {set T}) : perm_eq (enum (A :&: B) ++ enum (A :\: B)) (enum A).
Proof.
apply: uniq_perm; [rewrite cat_uniq !enum_uniq andbT /= | exact: enum_uniq | move=> i].
  apply/hasPn => i; rewrite mem_enum inE => /andP[/negbTE iB _].
  by rewrite -[mem _ i]/(i \in _) mem_enum inE iB andbF.
by rewrite mem_cat !mem_enum !inE; case: (i \in A); case: (i \in B).
Qed.

Section Largest.
Variable R : realFieldType.
Implicit Types s t : seq R.

Definition largest x s := take x (sort >=%R s).

Let ge_trans : transitive (>=%R : rel R).
Proof. by move=> y x z xy yz; apply: le_trans yz xy. Qed.

Let ge_total : total (>=%R : rel R).
Proof. by move=> x y; apply: le_total. Qed.

Let ge_anti : antisymmetric (>=%R : rel R).
Proof. by move=> x y; rewrite andbC => /le_anti. Qed.

Let take_le a t n : sorted >=%R (a :: t) -> (n <= size t)%N -> all2 <=%R (take n t) (take n (a :: t)).
Proof.
elim: t a n => [|b t IH] a [|n] //= /andP[ba bt] nt; rewrite ba /=.
by apply: (IH b n bt).
Qed.

Let all2_trans s t r : all2 <=%R s t -> all2 <=%R t r -> all2 <=%R s r.
Proof.
elim: s t r => [|a s IH] [|b t] [|c r] //= /andP[ab st] /andP[bc tr].
by rewrite (le_trans ab bc) (IH t).
Qed.

Let subseq_le s t : sorted >=%R t -> subseq s t -> all2 <=%R s (take (size s) t).
Proof.
elim: t s => [|a t IH] [|b s] //= at_sorted; have t_sorted := path_sorted at_sorted.
case: eqP => [-> | _] sub; first by rewrite lexx IH.
exact: all2_trans (IH _ t_sorted sub) (@take_le a t (size s).+1 at_sorted (size_subseq sub)).
Qed.

(* Some of the numbers are, in order, at most as many of the largest. *)
Lemma largest_le s t : all2 <=%R (sort >=%R s) (largest (size s) (s ++ t)).
Proof.
rewrite -[X in largest X](size_sort >=%R s); apply: subseq_le; first exact: sort_sorted.
by apply: subseq_sort => //; apply: prefix_subseq.
Qed.

Lemma all2_complement s t : all2 <=%R s t -> all2 <=%R [seq 1 - b | b <- t] [seq 1 - b | b <- s].
Proof. by elim: s t => [|a s IH] [|b t] //= /andP[ab /IH ->]; rewrite ler_add2l ler_opp2 ab. Qed.

Lemma perm_largest x s t : perm_eq s t -> largest x s = largest x t.
Proof. by rewrite /largest => /(perm_sortP ge_total ge_trans ge_anti) ->. Qed.

End Largest.

Section Suite.
Variables (R : realFieldType) (Data : finType) (N : nat).
Variables (rollouts : 'I_N -> law R Data) (bad : {set 'I_N}).

Section Level.
Variables (pass : 'I_N -> pred Data) (beta : 'I_N -> R).
Hypothesis beta_probability : forall i, probability (beta i).
Hypothesis bad_passes_seldom : forall i, i \in bad -> Pr (rollouts i) (pass i) <= beta i.

(* The tasks that do not pass. *)
Definition failed (w : {ffun 'I_N -> Data}) := [set i | ~~ pass i (w i)].

(* The coins of the tasks in S and of x others, those with the largest beta. *)
Definition list_coins (S : {set 'I_N}) x :=
  [seq 1 - b | b <- [seq beta i | i <- enum S] ++ largest x [seq beta i | i <- enum (~: S)]].

(* Few bad tasks that do not pass are as unlikely as few heads of their coins. *)
Lemma few_bad_fail k :
  Pr (independent rollouts) (fun w => #|bad :&: failed w| <= k)%N <= at_most [seq 1 - beta i | i <- enum bad] k.
Proof.
rewrite (eq_Pr _ (F := fun w : {ffun 'I_N -> Data} => #|[set i | (i \in bad) && ~~ pass i (w i)]| <= k)%N); last first.
  by move=> w; congr (#|pred_of_set _| <= k)%N; apply/setP => i; rewrite !inE.
rewrite (Pr_count _ (fun i d => (i \in bad) && ~~ pass i d)) -at_most_among.
have P1 (i : 'I_N) : probability (1 - beta i).
  by case/andP: (beta_probability i) => b0 b1; rewrite /probability subr_ge0 b1 ger_addl oppr_le0.
apply: at_most_le.
- by rewrite all_map; apply/allP => i _ /=; case: ifP => // _; rewrite /probability lexx ler01.
- by rewrite all_map; apply/allP => i _ /=; rewrite /probability Pr_ge0 Pr_le1.
elim: (enum _) => //= i s ->; rewrite andbT; case: ifP => [ibad|_]; last exact: Pr_ge0.
by rewrite Pr_not ler_add2l ler_opp2 bad_passes_seldom.
Qed.

Let coins_probability (s : seq R) : all (@probability R) s -> all (@probability R) [seq 1 - b | b <- s].
Proof.
rewrite all_map => /allP sP; apply/allP => b /sP /andP[b0 b1].
by rewrite /= /probability subr_ge0 b1 ger_addl oppr_le0.
Qed.

Let levels_probability (S : {set 'I_N}) : all (@probability R) [seq beta i | i <- enum S].
Proof. by rewrite all_map; apply/allP => i _; apply: beta_probability. Qed.

Let largest_probability x (s : seq R) : all (@probability R) s -> all (@probability R) (largest x s).
Proof. by move/allP => sP; apply/allP => b /mem_take; rewrite mem_sort; apply: sP. Qed.

(* The more coins, the less likely are few heads. *)
Lemma list_coins_le S x y k : (x <= y)%N -> at_most (list_coins S y) k <= at_most (list_coins S x) k.
Proof.
move=> xy; rewrite /list_coins; set s := [seq beta i | i <- enum (~: S)].
have ->: largest y s = largest x s ++ drop x (largest y s).
  by rewrite -[LHS](cat_take_drop x) /largest take_take.
rewrite catA map_cat (perm_at_most _ (permEl (perm_catC _ _))).
have: all (@probability R) [seq 1 - b | b <- drop x (largest y s)].
  apply: coins_probability; apply/allP => b /mem_drop; apply/allP.
  exact/largest_probability/levels_probability.
have: all (@probability R) [seq 1 - b | b <- [seq beta i | i <- enum S] ++ largest x s].
  by apply: coins_probability; rewrite all_cat levels_probability largest_probability ?levels_probability.
elim: (map _ (drop _ _)) => //= q qs IH psP /andP[qP qsP].
apply: le_trans (IH psP qsP); apply: (@at_most_cons _ q (qs ++ _)).
by rewrite /= qP all_cat qsP.
Qed.

(* The proof's step: if y bad tasks pass, the coins of the list say at least as much as those of the bad tasks. *)
Lemma bad_coins_le (S : {set 'I_N}) :
  at_most [seq 1 - beta i | i <- enum bad] #|bad :&: S| <= at_most (list_coins S #|bad :\: S|) #|S|.
Proof.
pose coins (A : {set 'I_N}) := [seq 1 - b | b <- [seq beta i | i <- enum A]].
have coinsP A : all (@probability R) (coins A) by apply/coins_probability/levels_probability.
have split A B : perm_eq (coins A) (coins (A :&: B) ++ coins (A :\: B)).
  by rewrite -map_cat -map_cat perm_sym; do 2 apply: perm_map; apply: perm_enum_split.
set y := #|bad :\: S|; set top := [seq 1 - b | b <- largest y [seq beta i | i <- enum (~: S)]].
have topP : all (@probability R) top by apply/coins_probability/largest_probability/levels_probability.
rewrite (_ : [seq _ | i <- enum bad] = coins bad); last by rewrite /coins -map_comp.
rewrite (perm_at_most _ (split bad S)).
apply: (@le_trans _ _ (at_most (coins (bad :&: S) ++ top) #|bad :&: S|)).
  set passed := [seq beta i | i <- enum (bad :\: S)].
  have sorted_perm : perm_eq (coins (bad :\: S)) [seq 1 - b | b <- sort >=%R passed].
    by apply: perm_map; rewrite perm_sym perm_sort.
  rewrite (perm_at_most (qs := coins (bad :&: S) ++ [seq 1 - b | b <- sort >=%R passed])) ?perm_cat2l //.
  apply: at_most_le; rewrite ?all_cat ?coinsP ?topP // -?(perm_all _ sorted_perm) ?coinsP //.
  have: all2 <=%R (sort >=%R passed) (largest y [seq beta i | i <- enum (~: S)]).
    rewrite (perm_largest _ (t := passed ++ [seq beta i | i <- enum (~: S :\: bad)])).
      by rewrite /y cardE -(size_map beta); apply: largest_le.
    by rewrite -map_cat perm_sym /passed setDE setIC; apply/perm_map/perm_enum_split.
  move/all2_complement; elim: (coins (bad :&: S)) => //= c s IH /IH ->.
  by rewrite lexx.
have ->: #|S| = (size (coins (S :\: bad)) + #|bad :&: S|)%N.
  by rewrite !size_map -cardE addnC setIC cardsID.
apply: le_trans (at_most_catS _ (coinsP _) _) _; first by rewrite all_cat coinsP.
rewrite catA (perm_at_most (qs := list_coins S y)) //; rewrite /list_coins map_cat perm_cat2r.
by rewrite perm_catC setIC perm_sym; apply: split.
Qed.

(* Every part P of the list has at most x_hat bad tasks beside those in P that do not pass. Here x_hat is a function of
   the tasks that do not pass: all others, or so many that with one more so few failures would be unlikely. *)
Theorem suite_certificate (x_hat : {set 'I_N} -> nat) delta : 0 <= delta ->
    (forall S, (#|~: S| <= x_hat S)%N \/ at_most (list_coins S (x_hat S).+1) #|S| <= delta) ->
  Pr (independent rollouts)
    (fun w => [exists P : {set 'I_N}, #|P :&: failed w| + x_hat (failed w) < #|P :&: bad|]%N) <= delta.
Proof.
move=> delta0 checked; pose fails k := at_most [seq 1 - beta i | i <- enum bad] k <= delta.
apply: le_trans (@Pr_fails _ _ _ (fun w => #|bad :&: failed w|) fails _ delta0 _); last first.
  by move=> k; apply: le_trans (few_bad_fail k).
apply: le_Pr => w /existsP[P]; set S := failed w => lt.
have {}lt : (x_hat S < #|bad :\: S|)%N.
  rewrite -(ltn_add2l #|P :&: S|); apply: leq_trans lt _.
  rewrite -(cardsID S (P :&: bad)); apply: leq_add; apply/subset_leq_card/subsetP => i; rewrite !inE.
    by case/andP => /andP[-> _] ->.
  by case/andP => -> /andP[_ ->].
apply: le_trans (bad_coins_le S) _; case: (checked S) => [none|].
  have /(leq_trans lt) : (#|bad :\: S| <= #|~: S|)%N.
    by apply/subset_leq_card/subsetP => i; rewrite !inE => /andP[].
  by rewrite ltnNge none.
exact/le_trans/list_coins_le.
Qed.

End Level.

(* With equal levels the coins are a binomial distribution, and x_hat a function of the number k that do not pass. *)
Theorem suite_equal_levels (pass : 'I_N -> pred Data) (beta : R) (x_hat : nat -> nat) delta :
    0 <= delta -> probability beta ->
    (forall i, i \in bad -> Pr (rollouts i) (pass i) <= beta) ->
    (forall k, (k <= N)%N -> (N <= k + x_hat k)%N \/ binomial_at_most (k + (x_hat k).+1) (1 - beta) k <= delta) ->
  Pr (independent rollouts) (fun w => [exists P : {set 'I_N},
    #|P :&: failed pass w| + x_hat #|failed pass w| < #|P :&: bad|]%N) <= delta.
Proof.
move=> delta0 betaP seldom checked.
apply: (@suite_certificate pass (fun=> beta) _ _ (fun S => x_hat #|S|)) => // S.
case: (checked #|S|) => [||small]; first by rewrite -[X in (_ <= X)%N]card_ord max_card.
  by left; rewrite -(leq_add2l #|S|) cardsC card_ord.
case: (leqP #|~: S| (x_hat #|S|)) => [|others]; [by left | right].
have equal m : sort >=%R (nseq m beta) = nseq m beta.
  by rewrite -[in RHS](size_nseq m beta) -(size_sort >=%R); apply/all_pred1P; rewrite all_sort all_pred1_nseq.
rewrite /list_coins /largest !map_const -!cardE equal take_nseq // -nseqD map_nseq.
by rewrite at_most_nseq.
Qed.

(* Several levels share delta, and the one that says most counts. *)
Theorem suite_several_levels (Level : finType) (pass : Level -> 'I_N -> pred Data) (beta : Level -> 'I_N -> R)
    (x_hat : Level -> {set 'I_N} -> nat) (delta : Level -> R) :
    (forall g, 0 <= delta g) -> (forall g i, probability (beta g i)) ->
    (forall g i, i \in bad -> Pr (rollouts i) (pass g i) <= beta g i) ->
    (forall g S, (#|~: S| <= x_hat g S)%N \/ at_most (list_coins (beta g) S (x_hat g S).+1) #|S| <= delta g) ->
  Pr (independent rollouts) (fun w => [exists g, [exists P : {set 'I_N},
    #|P :&: failed (pass g) w| + x_hat g (failed (pass g) w) < #|P :&: bad|]])%N <= \sum_g delta g.
Proof.
move=> delta0 betaP seldom checked; apply: le_trans (Pr_exists _ (fun g w => [exists P : {set 'I_N}, _])) _.
apply: ler_sum => g _; apply: (@suite_certificate (pass g) (beta g) _ _ (x_hat g)).
- exact: betaP.
- exact: seldom.
- exact: delta0.
- exact: checked.
Qed.

End Suite.
