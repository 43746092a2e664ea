// Updates endpoints after hone models promote or hone models rollback has moved an alias to another version. A server
// continues to serve the old version until another one is deployed.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct EndpointsOfModel {
  bool deploys = false;  // true: deploys the version to the endpoints; false: logs the commands
  bool json = false;     // passes --json to hone deploy
};
// For each endpoint that serves the model: deploys the version to the endpoint, or logs which versions the endpoint
// serves and the command that changes them. If no endpoint serves the model, deploys the version to a new endpoint, or
// logs the command for this. EndpointsOfModel::deploys decides which. Errors: those of the registry and of hone deploy.
Status follow_alias(Registry& registry, const ModelVersion& version, const EndpointsOfModel& how);

}  // namespace hone
