"""A certificate, a leaderboard or groups of rows as one page of HTML, to be read, printed and sent."""
