"""The portal: a team's people see and mend their webhooks in a browser, without a script.

`frame` finds who visits and makes every answer alike; the other modules hold the pages. A form that was taken is
answered by 303 to a page, which says what was done; one that was refused, by the same form with the reasons.
"""
