// Checks the keys of config.json. A key that hone does not know could change the model, so it is an error.
#pragma once

#include <initializer_list>

#include "learn/models/family.h"

namespace hone {

// H2303: a key of c.config is not in `usual` (ModelType::usual), not in `own`, and not one of the keys that every
// config of Transformers may have without an effect on the model.
Status accept_keys(const ModelConfig& c, const nlohmann::json& usual,
                   const std::vector<const char*>& own);
// Adds the keys of `usual` that c.config lacks, as Transformers' config classes do. `rotation`: the keys that describe
// rotary positions; they are added only if c.config has none of them.
void add_missing_keys(ModelConfig& c, const nlohmann::json& usual,
                      std::initializer_list<const char*> rotation);

}  // namespace hone
