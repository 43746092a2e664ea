// The keys that a family accepts in config.json. A key that nobody knows may change the model, so it
// is refused by name.
#pragma once

#include <initializer_list>

#include "learn/models/family.h"

namespace hone {

// H2303 unless each key of the config is in `usual` (ModelType::usual), in `own`, or one that every
// config of Transformers may have without changing the model.
Status accept_keys(const ModelConfig& c, const nlohmann::json& usual,
                   const std::vector<const char*>& own);
// Adds the keys of `usual` that the config lacks, as Transformers' config classes do. The form of
// the rotation is added only if the config has none of the keys `rotation`.
void add_missing_keys(ModelConfig& c, const nlohmann::json& usual,
                      std::initializer_list<const char*> rotation);

}  // namespace hone
