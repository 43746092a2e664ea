// The modules of sentence-transformers in a GGUF file: <architecture>.pooling_type, and hone.sentence_modules,
// a JSON object with the settings for which llama.cpp has no key.
#pragma once

#include <optional>
#include <string>

#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/pretrained/sentence_settings.h"

namespace hone {

// pooling_type of a head that classifies sequences.
inline constexpr int64_t kRankPooling = 4;

// hone's key for AddedToken::lstrip of the mask.
inline constexpr const char* kMaskLstrip = "hone.mask_lstrip";

// The keys of the modules. H2209: a pooling that llama.cpp does not have, or dense layers.
Result<GgufMetadata> gguf_modules(const SentenceModules& modules, const std::string& architecture);
// The modules of the file; none: it has no pooling. Without hone's key embeddings have the length 1, as
// llama.cpp's programs make them.
Result<std::optional<SentenceModules>> read_gguf_modules(const GgufFile& file,
                                                         const std::string& path);

}  // namespace hone
