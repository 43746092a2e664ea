// The registry's content as JSON, for programs and pages.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

OrderedJson model_json(const RegisteredModel& m);
OrderedJson version_json(const ModelVersion& v);  // with "name", "version" and "uri" first
OrderedJson run_json(const RegisteredRun& r);
OrderedJson decision_json(const Decision& d);
OrderedJson alias_change_json(const AliasChange& c);
OrderedJson endpoint_json(const Endpoint& e);

}  // namespace hone
