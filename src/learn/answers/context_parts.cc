#include "learn/answers/context_parts.h"

#include <algorithm>
#include <span>

#include "learn/tokenizers/token_spans.h"

namespace hone {

ContextCutter::ContextCutter(const Tokenizer& tokenizer, int64_t most, int64_t stride)
    : tokenizer_(tokenizer), most_(most), stride_(stride) {
  constexpr int32_t kMark = -1;
  const std::vector<int32_t> mark{kMark};
  const Encoding marked = tokenizer_.with_special_tokens({}, mark);
  before_ = std::find(marked.ids.begin(), marked.ids.end(), kMark) - marked.ids.begin();
}

CutContext ContextCutter::cut(std::string_view question, std::string_view context) const {
  while (!question.empty() && std::string_view(" \t\r\n").find(question[0]) != question.npos)
    question.remove_prefix(1);
  const EncodeOptions bare{.add_special_tokens = false};
  const std::vector<int32_t> asked = tokenizer_.encode(question, bare),
                             ids = tokenizer_.encode(context, bare);
  CutContext out{.question_tokens = std::ssize(asked)};
  out.room = most_ - out.question_tokens - tokenizer_.special_token_count(true);
  if (out.room <= stride_) return out;
  const std::vector<TokenSpan> spans = token_spans(tokenizer_, context, ids);
  const int64_t all = std::ssize(ids);
  for (int64_t begin = 0;; begin += out.room - stride_) {
    const int64_t end = std::min(begin + out.room, all);
    const auto first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
    ContextPart part;
    part.row = tokenizer_.with_special_tokens(asked, std::span(ids).subspan(first, count));
    part.context = static_cast<int32_t>(before_ + out.question_tokens);
    for (size_t i = first; i < first + count; ++i)
      part.spans.emplace_back(spans[i].begin, spans[i].end);
    out.parts.push_back(std::move(part));
    if (end == all) return out;
  }
}

}  // namespace hone
