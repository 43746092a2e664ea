// Brings endpoints up to date after hone models promote or rollback has moved an alias to another version: a server
// does not follow an alias by itself.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct EndpointsOfModel {
  bool deploys = false;  // true: deploys the version to the endpoints; false: only logs
  bool json = false;     // passes --json to hone deploy
};
// For each endpoint that serves the model: deploys the version there, or logs which versions it serves and the command
// that changes them. If no endpoint serves the model, deploys the version to a new one, or logs the command. Errors:
// those of the registry and of hone deploy.
Status follow_alias(Registry& registry, const ModelVersion& version, const EndpointsOfModel& how);

}  // namespace hone
