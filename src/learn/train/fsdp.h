// Translates Transformers' --fsdp into hone's settings.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// A function for Schema::then, which calls it after all settings are read. Sets settings by the words of the setting
// "fsdp":
//   full_shard           zero_stage 3
//   hybrid_shard         zero_stage 3, mics_shard_size -1
//   shard_grad_op        zero_stage 2
//   hybrid_shard_zero2   zero_stage 2, mics_shard_size -1
//   no_shard             zero_stage 0
//   offload              offload_param_device cpu, offload_optimizer_device cpu
//   auto_wrap            nothing
// Adds to `errors`: H0203 an unknown word; H0211 and others of Schema::imply. Adds to `notices` a sentence for each
// change of a setting.
void follow_fsdp(Schema& schema, std::vector<std::string>& notices, std::vector<Error>& errors);

}  // namespace hone
