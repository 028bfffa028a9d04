"""The metrics: every statistic and block. Answers, their documentation and their JSON Schema derive from these declarations."""
