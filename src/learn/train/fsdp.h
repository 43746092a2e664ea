// Transformers' --fsdp as values of settings.
#pragma once

#include "base/settings/settings.h"

namespace hone {

// For Schema::then: sets zero_stage and, with "offload", the places of weights and optimizer states.
// Errors: H0203 an unknown word; H0211 and others of Schema::imply.
void follow_fsdp(Schema& schema, std::vector<std::string>& notices, std::vector<Error>& errors);

}  // namespace hone
