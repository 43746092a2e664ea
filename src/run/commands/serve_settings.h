// The settings of hone serve, and those of them that an endpoint of the registry keeps.
#pragma once

#include "operate/registry/registry.h"
#include "run/commands/command.h"

namespace hone {

struct ServeSettings {
#define HONE_SETTINGS "run/commands/serve.def"
#include "base/settings/fields.inc"
};

// The values that were given and belong to the endpoint (see serve.def); paths of files are absolute.
OrderedJson kept_settings(const Schema& schema);
// Uses the settings that the endpoint keeps, except those that were given. Names that this version
// of hone does not know are ignored.
Status use_kept_settings(Schema& schema, const Endpoint& endpoint);

// The values of NAME=VALUE, checked as flags of hone serve. Errors: H3006 not in this form, those of Schema::parse.
Result<OrderedJson> serving_of(const std::vector<std::string>& flags);
// The value of a setting at an endpoint: the one that it keeps, else the default of hone serve.
OrderedJson served_value(const Endpoint& endpoint, const std::string& name);

}  // namespace hone
