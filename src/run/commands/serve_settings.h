// The settings of hone serve, and the part of them that an endpoint in the registry stores (Endpoint::serving).
#pragma once

#include "operate/registry/registry.h"
#include "run/commands/command.h"

namespace hone {

struct ServeSettings {
#define HONE_SETTINGS "run/commands/serve.def"
#include "base/settings/fields.inc"
};

// The values, by name, that the user gave and that an endpoint stores (serve.def marks these settings). Paths of files
// become absolute.
OrderedJson kept_settings(const Schema& schema);
// Sets the values that the endpoint stores, except for settings that the user gave. Names that this version of hone
// does not know are ignored. Errors: those of Schema::imply_default().
Status use_kept_settings(Schema& schema, const Endpoint& endpoint);

// The values, by name, for texts of the form NAME=VALUE (the flag --serve_flags), checked as flags of hone serve.
// Errors: H3006 a text has another form, or an endpoint cannot store the setting; those of Schema::parse().
Result<OrderedJson> serving_of(const std::vector<std::string>& flags);
// The value of a setting at an endpoint: the stored one, else the default of hone serve.
OrderedJson served_value(const Endpoint& endpoint, const std::string& name);

}  // namespace hone
