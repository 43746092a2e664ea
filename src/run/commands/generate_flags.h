// The flags of hone generate as a generation config, and their lines in the log.
#pragma once

#include <span>

#include "learn/generate/prompts.h"
#include "run/commands/command.h"

namespace hone {

struct GenerateSettings {
#define HONE_SETTINGS "run/commands/generate.def"
#include "base/settings/fields.inc"
};

// Every value of a flag that may be given several times; commas are part of the text.
std::vector<std::string> texts_of(const std::vector<std::string>& args, std::string_view flag);

// The model's generation config, changed by the flags. `origin`: the source of the length limit;
// "": none is set. H2501; errors of apply_generation_json.
Result<GenerationConfig> generation_from(const GenerateSettings& s,
                                         const std::vector<std::string>& args,
                                         const Pretrained& model, std::span<const PromptRow> rows,
                                         std::string& origin);

// Logs the maximum length of sequences.
void tell_length(const GenerateSettings& s, const GenerationConfig& c,
                 std::span<const Prompt> prompts, int64_t positions, std::string origin);
// Logs that the prompts of a model of chats do not pass through its template.
void tell_chats(const Pretrained& model);
// Logs flags that change nothing.
void tell_idle_flags(const GenerateSettings& s, const GenerationConfig& c);

}  // namespace hone
