// vocab.txt of WordPiece, and what BertTokenizer puts around such a vocabulary.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/stages/wordpiece.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

std::string_view trim_end(std::string_view line) {
  while (!line.empty()) {
    const Char c = decode_last_char(line.data(), line.data() + line.size());
    if (c.code == kInvalidChar || !(class_of(char_classes(), c.code) & kSpace)) break;
    line.remove_suffix(static_cast<size_t>(c.length));
  }
  return line;
}

Status read_lines(std::string_view text, const std::string& where, Vocabulary& vocabulary) {
  vocabulary.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1,
                     text.size());
  int64_t id = 0;
  for (size_t at = 0; at < text.size(); ++id) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view token = trim_end(text.substr(at, stop - at));
    at = stop + 1;
    if (token.find('\0') != token.npos || lossy_utf8(token) != token)
      return Error(err::kTokenizerFormat,
                   fmt::format("the token \"{}\" is {}", lossy_utf8(token.substr(0, 60)),
                               lossy_utf8(token) == token ? "binary" : "not UTF-8"))
          .at(fmt::format("{}:{}", where, id + 1))
          .todo("fetch the file again: a vocabulary has one token a line, in UTF-8");
    auto added = vocabulary.add(token, id);
    if (!added.ok()) return std::move(added.error()).at(fmt::format("{}:{}", where, id + 1));
  }
  return Ok{};
}

}  // namespace

StagesJson bert_stages(const TokenizerConfig& config) {
  StagesJson json;
  json.normalizer = fmt::format(
      R"({{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":{},"strip_accents":{},)"
      R"("lowercase":{}}})",
      config.chinese.value_or(true),
      config.strip_accents ? fmt::format("{}", *config.strip_accents) : "null",
      config.lowercase.value_or(true));
  json.pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  json.decoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})";
  return json;
}

Status set_bert_post_processor(TokenizerParts& parts) {
  const auto id = [&](const std::string& token) -> std::optional<int64_t> {
    if (const AddedToken* added = parts.added.find(token)) return added->id;
    return parts.model->vocabulary().find(token);
  };
  const auto cls = id(parts.cls), sep = id(parts.sep);
  if (parts.cls.empty() || parts.sep.empty() || !cls || !sep)
    return Error(err::kTokenizerVocabulary,
                 "a BERT tokenizer needs the tokens [CLS] and [SEP], or others that "
                 "tokenizer_config.json names cls_token and sep_token")
        .todo("take vocab.txt and tokenizer_config.json from the same model");
  const auto special = [](const std::string& token, int segment) {
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", json_quote(token),
                       segment);
  };
  const auto entry = [](const std::string& token, int64_t token_id) {
    return fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", json_quote(token),
                       token_id);
  };
  const std::string one = fmt::format(R"({},{{"Sequence":{{"id":"A","type_id":0}}}},{})",
                                      special(parts.cls, 0), special(parts.sep, 0));
  return replace_post_processor(
      fmt::format(R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},)"
                  R"({{"Sequence":{{"id":"B","type_id":1}}}},{1}],"special_tokens":{{{2},{3}}}}})",
                  one, special(parts.sep, 1), entry(parts.cls, *cls), entry(parts.sep, *sep)),
      parts);
}

Status set_two_sep_post_processor(TokenizerParts& parts) {
  const auto entry = [&](const std::string& token) -> Result<std::string> {
    const AddedToken* added = parts.added.find(token);
    const auto id = added ? std::optional(added->id) : parts.model->vocabulary().find(token);
    if (token.empty() || !id)
      return Error(err::kTokenizerVocabulary,
                   "the vocabulary lacks the tokens that tokenizer_config.json names cls_token and "
                   "sep_token")
          .todo("take vocab.txt and tokenizer_config.json from the same model");
    return fmt::format("[{},{}]", json_quote(token), *id);
  };
  const std::string sep = HONE_TRY(entry(parts.sep)), cls = HONE_TRY(entry(parts.cls));
  return replace_post_processor(
      fmt::format(R"({{"type":"RobertaProcessing","sep":{},"cls":{},"trim_offsets":true,)"
                  R"("add_prefix_space":false}})",
                  sep, cls),
      parts);
}

Result<TokenizerParts> read_vocab_txt(std::string_view text, const std::string& where,
                                      const TokenizerConfig& given) {
  TokenizerConfig config = given;
  if (!config.is_bert() && !config.is_mpnet()) config.tokenizer_class = "BertTokenizer";
  WordPieceParts model;
  HONE_TRY(read_lines(text, where, model.vocabulary));
  if (const AddedToken* unk = config.find("unk_token")) model.unk_token = unk->content;
  TokenizerParts parts;
  parts.kind = "vocab.txt";
  HONE_TRY(make_stages(bert_stages(config), parts));
  auto made = make_wordpiece(std::move(model));
  if (!made.ok()) return std::move(made.error()).at(where);
  parts.model = std::move(made).value();
  HONE_TRY(apply_tokenizer_config(config, parts));
  auto set = config.is_mpnet() ? set_two_sep_post_processor(parts) : set_bert_post_processor(parts);
  if (!set.ok()) return std::move(set.error()).at(where);
  return parts;
}

}  // namespace hone
