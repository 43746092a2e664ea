// Reads and writes the modules of sentence-transformers (pooling, normalization, prompts) as metadata of a GGUF file:
// <architecture>.pooling_type is llama.cpp's key; hone.sentence_modules is a JSON object with the settings for which
// llama.cpp has no key.
#pragma once

#include <optional>
#include <string>

#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/pretrained/sentence_settings.h"

namespace hone {

// llama.cpp's pooling_type RANK: the file has a head that classifies sequences.
inline constexpr int64_t kRankPooling = 4;

// A key of hone's own: whether the mask token removes the blanks before it (AddedToken.lstrip of the tokenizers
// library).
inline constexpr const char* kMaskLstrip = "hone.mask_lstrip";

// The metadata for `modules`. `architecture`: the file's general.architecture. H2209: llama.cpp does not support this
// pooling, or there are dense layers, which llama.cpp does not support.
Result<GgufMetadata> gguf_modules(const SentenceModules& modules, const std::string& architecture);
// The modules of the file; none: the file does not embed texts (its pooling_type is absent, NONE or RANK). Without the
// key hone.sentence_modules embeddings are normalized to length 1, as llama.cpp's programs do. H2209: a pooling_type
// other than 1 (mean), 2 (cls) and 3 (last token). `path` names the file in messages.
Result<std::optional<SentenceModules>> read_gguf_modules(const GgufFile& file,
                                                         const std::string& path);

}  // namespace hone
