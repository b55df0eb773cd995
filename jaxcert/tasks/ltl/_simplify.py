"""Shorter formulas that the same traces satisfy, so that one task may be written in several ways."""

from jaxcert.tasks.ltl._formula import Always, And, Constant, Eventually, Formula, Not, Or, Until

_TRUE, _FALSE = Constant(True), Constant(False)


def simplified(formula: Formula) -> Formula:
    """A formula that holds at the same positions of the same finite traces, where short rules give one.

    Constants vanish where they decide nothing; ``true U f`` is ``F f``, ``F F f`` is ``F f``, ``!G f`` is ``F !f``,
    ``!F f`` is ``G !f``, and ``!f & !g`` is ``!(f | g)``.
    """
    match formula:
        case Not(operand):
            return _negation(simplified(operand))
        case Eventually(operand) | Always(operand):
            inner = simplified(operand)
            return inner if isinstance(inner, Constant | type(formula)) else type(formula)(inner)
        case And(left, right):
            return _joined(And, simplified(left), simplified(right))
        case Or(left, right):
            return _joined(Or, simplified(left), simplified(right))
        case Until(left, right):
            return _until(simplified(left), simplified(right))
    return formula


def _negation(operand: Formula) -> Formula:
    match operand:
        case Constant(value):
            return Constant(not value)
        case Not(inner):
            return inner
        case Always(inner):
            return Eventually(_negation(inner))
        case Eventually(inner):
            return Always(_negation(inner))
    return Not(operand)


def _joined(join: type[And] | type[Or], left: Formula, right: Formula) -> Formula:
    """Both operands, without the constant that changes nothing; the other constant decides."""
    neutral, decisive = (_TRUE, _FALSE) if join is And else (_FALSE, _TRUE)
    if decisive in (left, right):
        return decisive
    if neutral in (left, right):
        return left if right == neutral else right
    if isinstance(left, Not) and isinstance(right, Not):
        return Not((Or if join is And else And)(left.operand, right.operand))
    return join(left, right)


def _until(left: Formula, right: Formula) -> Formula:
    # The right side may hold at once; so with nothing allowed before, it has to.
    if isinstance(right, Constant) or left == _FALSE:
        return right
    if left == _TRUE:
        return right if isinstance(right, Eventually) else Eventually(right)
    return Until(left, right)
