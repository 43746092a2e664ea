// Reads a DeepSpeed configuration (https://www.deepspeed.ai/docs/config-json/) and sets hone's settings to its values:
// learning_rate, offload_optimizer_device and so on. The rules are those of Transformers' Trainer:
//
//   a value                                 the setting gets this value; H0211 if the user gave another value
//   "auto"                                  the setting keeps its value
//   an absent key of `optimizer` or         the setting gets DeepSpeed's default, unless the user gave the setting
//   `scheduler`, absent gradient_clipping
//   null                                    as if the key were absent
//
// train_batch_size must be train_micro_batch_size_per_gpu times gradient_accumulation_steps times the number of ranks
// (base/ranks/world.h). Keys for communication or reports are ignored; one notice lists them.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// For Schema::then: reads the configuration that the setting "deepspeed" names, if it is not empty. Adds to `errors`:
// H2418 a key that DeepSpeed does not have; H2419 a value that hone does not support; H0003 the file cannot be read;
// H0001 the file is not JSON; H0211 and others of Schema::imply. Adds to `notices` a sentence for each change of a
// setting.
void follow_deepspeed(Schema& schema, std::vector<std::string>& notices,
                      std::vector<Error>& errors);

}  // namespace hone
