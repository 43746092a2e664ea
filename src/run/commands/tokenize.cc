// hone tokenize: rows of text in, one line {"ids":[...]} out for each, in order (encode_file.h).
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "learn/files/encode_file.h"
#include "learn/pretrained/open.h"
#include "run/commands/command.h"
#include "run/commands/in_flags.h"

namespace hone {
namespace {

struct TokenizeSettings {
#define HONE_SETTINGS "run/commands/tokenize.def"
#include "base/settings/fields.inc"
};

TruncateOptions truncate_options(const TokenizeSettings& s, const Tokenizer& tokenizer) {
  const std::optional<int64_t> length =
      s.max_length > 0 ? std::optional(s.max_length) : std::nullopt;
  if (s.truncation.empty())
    return tokenizer.truncate_options(
        length ? Truncation::longest_first : Truncation::do_not_truncate, length);
  return tokenizer.truncate_options(*truncation_named(s.truncation), length);
}

// The bytes of the text that each token stands for, as [begin, end]; none for the special tokens
// that the text does not spell. Null if the tokenizer does not keep the text as it is, such as its case.
OrderedJson token_places(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                         std::string_view text) {
  OrderedJson places = OrderedJson::array();
  Tokenizer::DecodeState state;
  size_t at = 0;
  for (const int32_t id : ids) {
    std::string piece;
    tokenizer.decode_next(id, true, state, piece);
    if (tokenizer.is_special(id)) piece = tokenizer.token_of(id).value_or("");
    const bool there = text.substr(at).starts_with(piece);
    if (!there && !tokenizer.is_special(id)) return nullptr;
    places.push_back({at, at + (there ? piece.size() : 0)});
    if (there) at += piece.size();
  }
  if (at < text.size()) return nullptr;
  return places;
}

// {"text": ..., "ids": [...], "tokens": [...], "special": [...], "bytes": [...]}, a line for each
// text; `special`: the places in the list of the special tokens.
Status print_tokens(const TokenizeSettings& s, const Tokenizer& tokenizer) {
  const EncodeOptions options{.add_special_tokens = s.add_special_tokens,
                              .split_special_tokens = s.split_special_tokens};
  for (const std::string& text : s.text) {
    Encoding encoded;
    HONE_TRY(tokenizer.encode_to(text, {}, encoded, options, truncate_options(s, tokenizer)));
    OrderedJson tokens = OrderedJson::array(), special = OrderedJson::array();
    for (size_t i = 0; i < encoded.ids.size(); ++i) {
      tokens.push_back(tokenizer.token_of(encoded.ids[i]).value_or(""));
      if (tokenizer.is_special(encoded.ids[i])) special.push_back(i);
    }
    print_out(dump_json(OrderedJson{{"text", text},
                                    {"ids", encoded.ids},
                                    {"tokens", tokens},
                                    {"special", special},
                                    {"bytes", token_places(tokenizer, encoded.ids, text)}}) +
              "\n");
  }
  return Ok{};
}

Result<int> tokenize(const TokenizeSettings& s) {
  const Tokenizer tokenizer = HONE_TRY(open_tokenizer(s.model_name_or_path, open_options(s)));
  if (s.input.empty() == s.text.empty())
    return Error(err::kSettingRequired, s.input.empty()
                                            ? "there is no text to turn into tokens"
                                            : "a file and texts are given, one of them is read")
        .at("--input, --text")
        .todo("give --input FILE, or --text \"...\"");
  if (!s.text.empty()) {
    HONE_TRY(print_tokens(s, tokenizer));
    return kExitDone;
  }
  const EncodeFileOptions options{.input = {.file = s.input,
                                            .column = s.text_column_name,
                                            .pair = s.text_pair,
                                            .column_names = s.column_names},
                                  .encode = {.add_special_tokens = s.add_special_tokens,
                                             .split_special_tokens = s.split_special_tokens},
                                  .truncate = truncate_options(s, tokenizer),
                                  .type_ids = s.return_token_type_ids,
                                  .threads = static_cast<int>(s.threads)};
  const auto input = HONE_TRY(open_text_input(options.input));
  std::unique_ptr<Writer> file;
  if (s.output != "-") file = HONE_TRY(file_store().create(s.output));
  HONE_TRY(encode_file(*input, tokenizer, options, [&](std::string_view lines) -> Status {
    if (file) return file->write(lines);
    print_out(lines);
    return Ok{};
  }));
  if (file) HONE_TRY(file->commit());
  return kExitDone;
}

Result<int> run_tokenize(const std::vector<std::string>& args) {
  TokenizeSettings s;
  Schema schema("hone tokenize", "turn rows of text into token ids");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  return in_flags(schema, tokenize(s));
}

}  // namespace

Command command_tokenize() {
  return {.name = "tokenize",
          .summary = "turn rows of text into token ids",
          .in = CommandGroup::kUse,
          .run = run_tokenize};
}

}  // namespace hone
