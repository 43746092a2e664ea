// Reads a DeepSpeed configuration (https://www.deepspeed.ai/docs/config-json/) and sets hone's settings to its values:
// the key lr of the optimizer sets learning_rate, for example. The rules are those of Transformers' Trainer:
//
//   key has a value            the setting gets this value; H0211 if the user gave the setting another value
//   key is "auto"              the setting keeps its value
//   key is absent or null      in `optimizer` and `scheduler`: the setting gets DeepSpeed's default, unless the user
//                              gave the setting; elsewhere: the setting keeps its value
//
// If gradient_clipping is absent, max_grad_norm gets DeepSpeed's default, 0 (no clipping), unless the user gave it.
// train_batch_size must be train_micro_batch_size_per_gpu times gradient_accumulation_steps times the number of ranks
// (base/ranks/world.h), else H2419. Keys for communication or reports are ignored; one notice lists them.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// For Schema::then: reads the configuration that the setting "deepspeed" gives, a file name or an object in the
// settings file; does nothing if the setting is empty. Adds to `errors`: H2418 a key that hone does not know; H2419 a
// value that hone does not support; H0003 the file cannot be read; H0001 the file is not JSON; H0211 and others of
// Schema::imply. Adds to `notices` a sentence for each change of a setting.
void follow_deepspeed(Schema& schema, std::vector<std::string>& notices,
                      std::vector<Error>& errors);

}  // namespace hone
