-- Health of a QuantumTrainingJob or QuantumTrainingStudy for Argo CD: Progressing until it is Complete, Degraded when it
-- cannot become so. The conditions and their reasons are described in docs/design/architecture.md.

local what = obj.kind == "QuantumTrainingStudy" and "study" or "job"

local function health(status, message)
  return { status = status, message = message }
end

local function because(condition)
  return condition.reason .. ": " .. condition.message
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "The " .. what .. " is being deleted")
end
if obj.status == nil or obj.status.conditions == nil then
  return health("Progressing", "The operator has not seen the " .. what .. " yet")
end
if obj.metadata.generation ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The operator has not seen the last change yet")
end

local known, holds = {}, {}
for _, condition in ipairs(obj.status.conditions) do
  known[condition.type] = condition
  holds[condition.type] = condition.status == "True"
end

if holds.Failed then
  return health("Degraded", because(known.Failed))
end
-- The cluster trains, or has trained, another job than the one in Git.
if holds.SpecIgnored and known.SpecIgnored.reason == "ImmutableFieldChanged" then
  return health("Degraded", because(known.SpecIgnored))
end
if holds.Complete then
  return health("Healthy", because(known.Complete))
end
if holds.Suspended then
  return health("Suspended", because(known.Suspended))
end
-- A job that has trained waits for inference.
local waits = holds.Trained and (known.Complete or known.Trained) or known.Running
if waits == nil then
  return health("Progressing", "The " .. what .. " is starting")
end
return health("Progressing", because(waits))
