// The settings of hone serve. An endpoint in the registry stores some of them (Endpoint::serving).
#pragma once

#include "operate/registry/registry.h"
#include "run/commands/command.h"

namespace hone {

struct ServeSettings {
#define HONE_SETTINGS "run/commands/serve.def"
#include "base/settings/fields.inc"
};

// From the settings that an endpoint stores (serve.def marks them), the values that the user gave, by name. Paths of
// files become absolute.
OrderedJson kept_settings(const Schema& schema);
// Sets the settings to the values that the endpoint stores, except settings that the user gave. Names that this version
// of hone does not know are ignored. Errors: those of Schema::imply_default().
Status use_kept_settings(Schema& schema, const Endpoint& endpoint);

// The values, by name, from texts of the form NAME=VALUE (the flag --serve_flags). They are checked in the same way as
// flags of hone serve. Errors: H3006 a text has another form, or an endpoint does not store the setting; those of
// Schema::parse().
Result<OrderedJson> serving_of(const std::vector<std::string>& flags);
// The value of a setting for the server of an endpoint: the stored value, else the default of hone serve.
OrderedJson served_value(const Endpoint& endpoint, const std::string& name);

}  // namespace hone
