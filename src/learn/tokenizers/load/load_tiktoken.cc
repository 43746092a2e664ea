// tiktoken rank files: one line "base64-of-the-token rank" each; the rank is the id and the order
// of merging. Special tokens and the splitting pattern are not in the file: tokenizer_config.json
// gives the tokens, or they are those of the known vocabularies, told by their size.
#include <charconv>

#include "base/unicode/base64.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

struct Line {
  std::string_view base64;
  int64_t rank;
};
bool split_line(std::string_view line, Line& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t space = line.find(' ');
  if (space == line.npos) return false;
  const auto number = line.substr(space + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.rank);
  out.base64 = line.substr(0, space);
  return error == std::errc() && end == number.data() + number.size();
}

std::string o200k_pattern() {
  const std::string tail = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";
  return R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" + tail +
         R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" + tail +
         R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::vector<std::string> known_specials(int64_t ranks) {
  std::vector<std::string> out;
  const auto numbered = [&](const char* format, int from, int to) {
    for (int i = from; i < to; ++i) out.push_back(fmt::format(fmt::runtime(format), i));
  };
  if (ranks == 128000) {  // Llama 3.1 and later
    out = {"<|begin_of_text|>",
           "<|end_of_text|>",
           "<|reserved_special_token_0|>",
           "<|reserved_special_token_1|>",
           "<|finetune_right_pad_id|>",
           "<|step_id|>",
           "<|start_header_id|>",
           "<|end_header_id|>",
           "<|eom_id|>",
           "<|eot_id|>",
           "<|python_tag|>"};
    numbered("<|reserved_special_token_{}|>", 2, 247);
  } else if (ranks == 151643) {  // Qwen
    out = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    numbered("<|extra_{}|>", 0, 205);
  } else if (ranks == 50256) {  // GPT-2
    out = {"<|endoftext|>"};
  }
  return out;
}

}  // namespace

bool is_tiktoken(std::string_view text) {
  Line line;
  std::string token;
  return split_line(text.substr(0, text.find('\n')), line) && decode_base64(line.base64, token);
}

Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& where,
                                     const TokenizerConfig& config) {
  BpeParts bpe;
  bpe.ignore_merges = true;
  Vocabulary raw;  // the tokens as bytes, for the search of merges
  std::vector<std::string> tokens;
  std::vector<int64_t> ranks;
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  raw.reserve(lines, text.size());
  bpe.vocabulary.reserve(lines, text.size());
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view content = text.substr(at, stop - at);
    at = stop + 1;
    ++number;
    if (content.empty()) continue;
    Line line;
    std::string token, spelled;
    if (!split_line(content, line) || !decode_base64(line.base64, token))
      return Error(err::kTokenizerFormat,
                   fmt::format("expected a token in base64 and its rank, found \"{}\"",
                               lossy_utf8(content.substr(0, 60))))
          .at(fmt::format("{}:{}", where, number))
          .todo("fetch the file again; it may be cut off");
    append_byte_level(token, spelled);
    HONE_TRY(raw.add(token, line.rank));
    HONE_TRY(bpe.vocabulary.add(spelled, line.rank));
    if (token.size() > 1) {
      tokens.push_back(std::move(token));
      ranks.push_back(line.rank);
    }
  }

  // Every split of a token into two tokens is a merge, in the order of (rank, left, right).
  struct Ranked {
    int64_t rank;
    Merge merge;
  };
  std::vector<Ranked> merges;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    const size_t first = merges.size();
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = raw.find(token.substr(0, cut));
      if (!left) continue;
      if (const auto right = raw.find(token.substr(cut)))
        merges.push_back({ranks[i], {*left, *right, static_cast<int32_t>(ranks[i])}});
    }
    std::sort(merges.begin() + static_cast<ptrdiff_t>(first), merges.end(),
              [](const Ranked& a, const Ranked& b) {
                return std::pair(a.merge.left, a.merge.right) <
                       std::pair(b.merge.left, b.merge.right);
              });
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  bpe.merges.reserve(merges.size());
  for (const Ranked& m : merges) bpe.merges.push_back(m.merge);

  const int64_t size = bpe.vocabulary.size();
  const std::string pre_tokenizer = size == 50256    ? byte_level_json(false, true)
                                    : size == 151643 ? split_then_bytes_json(kQwen2Pattern, false)
                                    : size == 199998 ? split_then_bytes_json(o200k_pattern(), false)
                                                     : split_then_bytes_json(kCl100kPattern, false);
  TokenizerParts parts;
  parts.kind = "tiktoken ranks";
  HONE_TRY(
      make_stages(byte_level_stages("null", pre_tokenizer, byte_level_json(false, true)), parts));
  parts.model = HONE_TRY(make_bpe(std::move(bpe)));
  if (config.listed.empty())
    for (std::string& content : known_specials(size)) {
      AddedToken token;
      token.content = std::move(content);
      parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
    }
  HONE_TRY(apply_tokenizer_config(config, parts));
  HONE_TRY(apply_bos_eos(config, parts));
  return parts;
}

}  // namespace hone
