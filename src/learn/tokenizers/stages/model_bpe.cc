// "BPE": the byte-level kind, whose pieces come from a ByteLevel pre-tokenizer, and the
// character-level one of SentencePiece.
#include "learn/tokenizers/stages/bpe.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

Error unsupported(const JsonAt& spec, std::string what) {
  return Error(err::kTokenizerKind, std::move(what))
      .at(spec.where)
      .todo(
          "hone reads byte-level BPE (such as GPT-2, RoBERTa, BART, Llama 3, Qwen2, SmolLM2) "
          "and SentencePiece BPE (Llama 1 and 2, Mistral, Gemma)");
}

Status check_options(const JsonAt& spec) {
  if (const auto dropout = spec.find("dropout")) {
    double rate = 1;
    if (dropout->value.get(rate) || rate != 0)
      return unsupported(*dropout, "BPE with dropout, whose ids differ from call to call");
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto affix = spec.find(key); affix && !HONE_TRY(affix->string()).empty())
      return unsupported(*affix, fmt::format("BPE with a {}", key));
  return Ok{};
}

Result<std::unique_ptr<Model>> make_model_bpe(const JsonAt& spec, const StageContext& context) {
  HONE_TRY(check_options(spec));
  BpeParts parts;
  parts.byte_level = context.byte_level;
  parts.byte_fallback = HONE_TRY(spec.boolean_or("byte_fallback", false));
  if (parts.byte_level && parts.byte_fallback)
    return unsupported(spec, "byte-level BPE with byte_fallback");
  HONE_TRY(read_vocabulary(HONE_TRY(spec.get("vocab")), parts.vocabulary));

  const JsonAt list = HONE_TRY(spec.get("merges"));
  const auto merges = HONE_TRY(list.array());
  parts.merges.reserve(merges.size());
  size_t index = 0;
  for (const JsonElement merge : merges) {
    std::string_view line, left, right;
    simdjson::dom::array pair;
    if (!merge.get(line)) {  // "a b"
      const size_t space = line.find(' ');
      if (space == line.npos || line.find(' ', space + 1) != line.npos)
        return list.item(merge, index).expected("two tokens with one space between");
      left = line.substr(0, space);
      right = line.substr(space + 1);
    } else if (merge.get(pair) || pair.size() != 2 || pair.at(0).get(left) ||
               pair.at(1).get(right)) {
      return list.item(merge, index).expected("a merge such as \"a b\" or [\"a\", \"b\"]");
    }
    auto found = resolve_merge(parts.vocabulary, left, right, "");
    if (!found.ok()) {
      Error e = found.error();
      return Error(e.error_code(), e.what()).at(list.item(merge, index).where).todo(e.remedy());
    }
    parts.merges.push_back(*found);
    ++index;
  }

  if (const auto unk = spec.find("unk_token")) parts.unk_token = HONE_TRY(unk->string());
  parts.fuse_unk = HONE_TRY(spec.boolean_or("fuse_unk", false));
  parts.ignore_merges = HONE_TRY(spec.boolean_or("ignore_merges", false));
  return make_bpe(std::move(parts));
}

}  // namespace

StageType tokenizer_stage_model_bpe() { return {.types = {"BPE"}, .model = make_model_bpe}; }

}  // namespace hone
