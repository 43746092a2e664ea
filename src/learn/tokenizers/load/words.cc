// Tokenizers of texts that come word by word.
#include "base/core/json.h"
#include "learn/tokenizers/load/loaders.h"

namespace hone {
namespace {

// Sets add_prefix_space of the stages that have it. True: some had another value.
bool add_prefix_space(Json& stage) {
  if (stage.is_array() || stage.is_object()) {
    bool changed = false;
    if (stage.is_object() && stage.value("type", Json()) == "ByteLevel" &&
        stage.value("add_prefix_space", Json(true)) != true)
      stage["add_prefix_space"] = changed = true;
    for (Json& inner : stage) changed = add_prefix_space(inner) || changed;
    return changed;
  }
  return false;
}

}  // namespace

Result<Tokenizer> for_words(const Tokenizer& tokenizer) {
  const TokenizerParts& from = tokenizer.parts();
  Json stage = HONE_TRY(parse_json(from.stages_json.pre_tokenizer, "pre_tokenizer"));
  if (!add_prefix_space(stage)) return tokenizer;
  Json whole = HONE_TRY(parse_json(tokenizer_json(tokenizer), "tokenizer.json"));
  whole["pre_tokenizer"] = stage;
  TokenizerParts to = HONE_TRY(read_tokenizer_json(dump_json(whole), "tokenizer.json"));
  to.bos = from.bos, to.eos = from.eos, to.pad = from.pad, to.unk = from.unk, to.sep = from.sep;
  to.cls = from.cls, to.mask = from.mask;
  to.model_max_length = from.model_max_length;
  to.truncates_left = from.truncates_left;
  to.chat_template = from.chat_template;
  to.tool_chat_template = from.tool_chat_template;
  to.fits_tokenizer_json = from.fits_tokenizer_json;
  to.kind = from.kind;
  for (const std::string& file : from.source_files)  // those that would say otherwise are written
    if (!file.ends_with("/tokenizer.json") && !file.ends_with("/tokenizer_config.json"))
      to.source_files.push_back(file);
  return Tokenizer::make(std::move(to));
}

}  // namespace hone
