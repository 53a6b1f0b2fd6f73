"""What the page's *Run* view shows: curves, counts, alarms and tables of runs and studies, as plain data.

``ledgers`` follows a run through its judged groups, ``watched`` reads the folder of a watched run, ``studies`` the
results of a study. Nothing here holds a text of a prompt, a trajectory or a judge. Not responsible for drawing
(``page/``).
"""
