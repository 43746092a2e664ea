// Endpoints whose version differs from the one that an alias names after hone models promote or
// rollback.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct EndpointsOfModel {
  bool deploys = false;  // changes them as hone deploy does
  bool json = false;
};
// Logs what each endpoint of the model serves and the command that changes it, or deploys the version there. Errors: those
// of hone deploy.
Status follow_alias(Registry& registry, const ModelVersion& version, const EndpointsOfModel& how);

}  // namespace hone
