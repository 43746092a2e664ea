// A DeepSpeed configuration (https://www.deepspeed.ai/docs/config-json/) as values of settings:
// learning_rate, offload_optimizer_device and so on. The rules are those of Transformers' Trainer:
//
//   a value in the configuration       is the setting's, unless the user gave another one: H0211
//   "auto"                             the setting stays what it is
//   an absent key of optimizer or      has DeepSpeed's default, unless the user gave the setting
//   scheduler, gradient_clipping
//   null                               as if the key were absent
//
// train_batch_size is train_micro_batch_size_per_gpu times gradient_accumulation_steps times the number
// of ranks (base/ranks/world.h). Keys for communication or reports do nothing; one line names them.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// For Schema::then: follows the setting "deepspeed", if it is not empty. Errors: H2418 unknown
// keys; H2419 values that hone cannot do; H0003 no such file; H0001 no JSON; H0211 and others of
// Schema::imply.
void follow_deepspeed(Schema& schema, std::vector<std::string>& notices,
                      std::vector<Error>& errors);

}  // namespace hone
