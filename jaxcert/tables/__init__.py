"""From what people have to labelled returns: files, folders and frames of any origin, by the roles of their columns.

The way of the data, each step in the module of this name:

1. `_readers`: the door for a path. A file of arrays goes to `_written`.
2. `formats`: files of other tools, recognised by content, by a recipe in TOML or in Python; and folders of files.
   `_file_tables`: all others, by suffix, as a table of pyarrow; `_json_records` finds records in JSON.
   `_parts`: folders of Parquet files, in batches, which `read_summary` counts in step 5's place.
3. `_roles`: which columns are the task, the trial and the outcome; `_picked_rows`: which rows are wanted.
4. `_read`, `_label_doubts`, `_outcome_doubts`: whether rows are single trials of one policy.
5. `_outcomes`, `_arranged`: returns [n, m] with a mask. Frames (`_frames`) begin at step 3.

`arrange_table` (`_arranged`) takes a table through steps 3 to 5. Some readers of step 2 look up the columns before it,
as they read these in another way than the rest.
"""

from jaxcert.tables._aligned import align_tasks
from jaxcert.tables._frames import from_frame, from_lists, from_xarray
from jaxcert.tables._read_summary import read_summary
from jaxcert.tables._readers import read_returns
from jaxcert.tables._returns import Returns, ReturnsFile
from jaxcert.tables._written import returns_facts, write_returns

__all__ = [
    "Returns",
    "ReturnsFile",
    "align_tasks",
    "from_frame",
    "from_lists",
    "from_xarray",
    "read_returns",
    "read_summary",
    "returns_facts",
    "write_returns",
]
