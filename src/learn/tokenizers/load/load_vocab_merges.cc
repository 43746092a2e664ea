// vocab.json: {"token": id, ...}.  merges.txt: one merge "a b" a line, rank = order, after an
// optional line "#version: ...".
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

Status read_vocab(const std::string& path, Vocabulary& vocabulary) {
  const std::string text = HONE_TRY(read_text_file(path));
  const JsonDocument document = HONE_TRY(JsonDocument::parse(text, path));
  return read_vocabulary(JsonAt{document.root(), path + ":"}, vocabulary);
}

Status read_merges_file(const std::string& path, BpeParts& parts) {
  const std::string text = HONE_TRY(read_text_file(path));
  parts.merges.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')));
  int64_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, stop - at);
    at = stop + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || (line.empty() && at >= text.size())) continue;
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      return Error(err::kTokenizerFormat, fmt::format("expected two tokens with one space between, "
                                                      "found \"{}\"",
                                                      line.substr(0, 60)))
          .at(fmt::format("{}:{}", path, line_number))
          .todo("fetch the file again; it may be cut off");
    auto merge = resolve_merge(parts.vocabulary, line.substr(0, space), line.substr(space + 1), "");
    if (!merge.ok())
      return Error(merge.error().error_code(), merge.error().what())
          .at(fmt::format("{}:{}", path, line_number))
          .todo(merge.error().remedy());
    parts.merges.push_back(*merge);
  }
  return Ok{};
}

}  // namespace

Result<TokenizerParts> read_vocab_merges(const std::string& vocab_path,
                                         const std::string& merges_path,
                                         const TokenizerConfig& given) {
  BpeParts bpe;
  HONE_TRY(read_vocab(vocab_path, bpe.vocabulary));
  HONE_TRY(read_merges_file(merges_path, bpe));
  TokenizerConfig config = given;
  const auto has = [&](std::string_view token) { return bpe.vocabulary.find(token); };
  if (config.tokenizer_class.empty()) {  // without a name, the special tokens tell
    const bool roberta = has("<s>") && has("</s>") && has("<pad>") && has("<mask>");
    config.tokenizer_class = roberta ? "RobertaTokenizer" : "GPT2Tokenizer";
  }
  const bool qwen2 = config.tokenizer_class == "Qwen2Tokenizer";
  const bool space = config.add_prefix_space.value_or(false);
  std::string post_processor = "null";
  if (config.is_roberta()) {
    const auto text_of = [&](const char* name, const char* fallback) {
      const AddedToken* token = config.find(name);
      return token ? token->content : std::string(fallback);
    };
    const std::string cls = text_of("cls_token", "<s>"), sep = text_of("sep_token", "</s>");
    if (!has(cls) || !has(sep))
      return Error(err::kTokenizerVocabulary,
                   fmt::format("a {} needs the tokens {} and {}", config.tokenizer_class, cls, sep))
          .at(vocab_path)
          .todo("name the right tokenizer_class in tokenizer_config.json");
    post_processor = fmt::format(
        R"({{"type":"RobertaProcessing","sep":[{},{}],"cls":[{},{}],"trim_offsets":true,)"
        R"("add_prefix_space":{}}})",
        json_quote(sep), *has(sep), json_quote(cls), *has(cls), space);
  }
  TokenizerParts parts;
  parts.kind = "vocab.json + merges.txt";
  HONE_TRY(make_stages(byte_level_stages(qwen2 ? R"({"type":"NFC"})" : "null",
                                         qwen2 ? split_then_bytes_json(kQwen2Pattern, space)
                                               : byte_level_json(space, true),
                                         post_processor),
                       parts));
  parts.model = HONE_TRY(make_bpe(std::move(bpe)));
  HONE_TRY(apply_tokenizer_config(config, parts));
  if (config.is_deberta())
    HONE_TRY(set_two_sep_post_processor(parts));
  else if (!config.is_roberta())
    HONE_TRY(apply_bos_eos(config, parts));
  return parts;
}

Result<Tokenizer> load_vocab_merges(const std::string& vocab_path, const std::string& merges_path) {
  return Tokenizer::make(HONE_TRY(read_vocab_merges(vocab_path, merges_path, {})));
}

}  // namespace hone
