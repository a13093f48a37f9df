"""What the scripted model says: the parts that several tests put their scripts together from."""

PLAN_TWO = """
[[session]]
instruction = "initializer"

[[session.turn]]
text = "Planning."

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "greet.py prints hello"
acceptanceCriteria = ["python3 greet.py prints hello"]

[[session.turn.tools.input.deliverables]]
id = "CLI-002"
description = "greet.py greets a name"
acceptanceCriteria = ["python3 greet.py Ada prints hello Ada"]

[[session.turn]]
text = "Planned."
"""

PLAN_ONE = """
[[session]]
instruction = "initializer"

[[session.turn]]
text = "Planning."

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "greet.py prints hello"
acceptanceCriteria = ["python3 greet.py prints hello"]

[[session.turn]]
text = "Planned."
"""
"""Where a second deliverable would show nothing more: an agent session less."""

PASS_ALL = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
text = "Working on {{task}}."
tools = [{ name = "Write", input = { file_path = "{{project}}/{{task}}.txt", content = "hello\\n" } }]

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]

[[session.turn]]
text = "Done with {{task}}."
"""

REVIEW_PASS = """
[[session]]
instruction = "review"
repeat = true

[[session.turn]]
text = "Looking at {{phase}}."
tools = [{ name = "mcp__runner__submit_review", input = { verdict = "pass", summary = "It does what it says.", findings = [] } }]

[[session.turn]]
text = "Reviewed."
"""

PASS_BOUND = PASS_ALL + REVIEW_PASS

TALK_ONLY = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
text = "I would rather talk about {{task}}."
"""


def planned(criterion: str, command: str = "") -> str:
    """Return a planning session for CLI-001, which a command verifies where one is given."""
    verification = f'verification = ["{command}"]' if command else ""
    return f"""
[[session]]
instruction = "initializer"

[[session.turn]]

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "what CLI-001 asks for"
acceptanceCriteria = ["{criterion}"]
{verification}

[[session.turn]]
text = "Planned."
"""


def failing(status: int, kind: str) -> str:
    """Return a script in which every request fails with an HTTP status."""
    return f"""
[[session]]
fallback = true
repeat = true

[[session.turn]]
error = {{ status = {status}, type = "{kind}", message = "scripted failure", times = 1000 }}
"""


SYNC_TWO = PLAN_TWO.replace("initializer", "sync")
VERIFY = """
[[session]]
instruction = "verify"

[[session.turn]]
tools = [
  { name = "Bash", input = { command = "python3 -m pytest --version; cat SPEC.md" } },
  { name = "Write", input = { file_path = "{{project}}/.runner-note.md", content = "CLI-002 is missing.\\n" } },
]

[[session.turn]]
tools = [
  { name = "mcp__runner__set_status", input = { deliverableId = "CLI-001", status = "passed" } },
  { name = "mcp__runner__verify", input = { deliverableId = "CLI-001" } },
]

[[session.turn]]
text = "Verified one."

[[session]]
instruction = "verify"

[[session.turn]]
tools = [{ name = "mcp__runner__verify", input = { deliverableId = "CLI-002" } }]

[[session.turn]]
text = "Verified the other."
"""

API_KEY_LIMIT = "You have reached your specified API usage limits. You will regain access on {}."


def limited(resets_at: int) -> str:
    """Return a script in which the five-hour window of a subscription is used up."""
    return f"""
[[session]]
fallback = true
repeat = true

[[session.turn]]
[session.turn.error]
status = 429
type = "rate_limit_error"
message = "This request would exceed your account's rate limit. Please try again later."
[session.turn.error.headers]
anthropic-ratelimit-unified-status = "rejected"
anthropic-ratelimit-unified-reset = "{resets_at}"
anthropic-ratelimit-unified-representative-claim = "five_hour"
"""


def refusing(status: int, message: str) -> str:
    """Return a script in which every request fails with a message, at once."""
    return f"""
[[session]]
fallback = true
repeat = true

[[session.turn]]
[session.turn.error]
status = {status}
message = "{message}"
headers = {{ x-should-retry = "false" }}
"""


def in_a_tool(command: str) -> str:
    """Return a coding session that makes `started.txt`, and then has a command run."""
    return f"""
[[session]]
instruction = "coding"

[[session.turn]]
tools = [{{ name = "Bash", input = {{ command = "touch started.txt; {command}" }} }}]

[[session.turn]]
text = "It is over."
"""


IN_A_TOOL = in_a_tool("(sleep 300 &) ; sleep 301")
