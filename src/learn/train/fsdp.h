// Translates Transformers' --fsdp into hone's settings.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// For Schema::then: reads the setting "fsdp" and sets zero_stage, with hybrid_shard also mics_shard_size, and with
// "offload" offload_param_device and offload_optimizer_device. Adds to `errors`: H0203 an unknown word; H0211 and
// others of Schema::imply.
void follow_fsdp(Schema& schema, std::vector<std::string>& notices, std::vector<Error>& errors);

}  // namespace hone
