// Converts the flags of hone generate into a generation config, and logs notes about them.
#pragma once

#include <span>

#include "learn/generate/prompts.h"
#include "run/commands/command.h"

namespace hone {

struct GenerateSettings {
#define HONE_SETTINGS "run/commands/generate.def"
#include "base/settings/fields.inc"
};

// All values of a flag that may be given several times, such as "--stop_strings". Commas are part of a value.
std::vector<std::string> texts_of(const std::vector<std::string>& args, std::string_view flag);

// The model's generation config, changed by the flags. Sets `origin` to the source of the length limit, which
// tell_length() logs; "": neither the model nor a flag sets a limit. Errors: H2501 a flag has an impossible value,
// those of apply_generation_json().
Result<GenerationConfig> generation_from(const GenerateSettings& s,
                                         const std::vector<std::string>& args,
                                         const Pretrained& model, std::span<const PromptRow> rows,
                                         std::string& origin);

// Logs the length limit of the generated sequences and its source `origin`. `positions` is the model's number of
// positions.
void tell_length(const GenerateSettings& s, const GenerationConfig& c,
                 std::span<const Prompt> prompts, int64_t positions, std::string origin);
// For a model with a chat template, logs that hone generate does not apply the template to prompts.
void tell_chats(const Pretrained& model);
// Logs flags that have no effect, such as --temperature without --do_sample.
void tell_idle_flags(const GenerateSettings& s, const GenerationConfig& c);

}  // namespace hone
