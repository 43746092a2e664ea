// The parts of Tokenizer that put texts and special tokens together.
#include "learn/tokenizers/scratch_pool.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

std::vector<Tokenizer::Slot> Tokenizer::slots(size_t texts) const {
  std::vector<Encoding> parts(texts);
  for (size_t i = 0; i < texts; ++i) {
    parts[i].ids = {i == 0 ? kFirst : kSecond};
    parts[i].type_ids = {static_cast<int32_t>(i)};
  }
  if (parts_->post_processor) parts_->post_processor->process(parts);
  std::vector<Slot> slots;
  for (const Encoding& part : parts)
    for (size_t i = 0; i < part.ids.size(); ++i) slots.push_back({part.ids[i], part.type_ids[i]});
  return slots;
}

void Tokenizer::fill(std::span<const Slot> slots, bool special, std::span<const int32_t> first,
                     std::span<const int32_t> second, Encoding& out) {
  out.ids.clear();
  out.type_ids.clear();
  for (const Slot& slot : slots) {
    if (slot.id == kFirst || slot.id == kSecond) {
      const auto text = slot.id == kFirst ? first : second;
      out.ids.insert(out.ids.end(), text.begin(), text.end());
    } else if (special) {
      out.ids.push_back(slot.id);
    }
    out.type_ids.resize(out.ids.size(), slot.type_id);
  }
}

Encoding Tokenizer::with_special_tokens(std::span<const int32_t> first) const {
  Encoding out;
  fill(single_, true, first, {}, out);
  return out;
}

Encoding Tokenizer::with_special_tokens(std::span<const int32_t> first,
                                        std::span<const int32_t> second) const {
  Encoding out;
  fill(pair_, true, first, second, out);
  return out;
}

int64_t Tokenizer::special_token_count(bool pair) const {
  const auto& slots = pair ? pair_ : single_;
  return std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.id >= 0; });
}

int64_t Tokenizer::special_tokens_after() const {
  const auto text =
      std::find_if(single_.rbegin(), single_.rend(), [](const Slot& s) { return s.id < 0; });
  return text - single_.rbegin();
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4 + 8);
  encode_to(text, ids, options);
  return ids;
}

void Tokenizer::encode_to(std::string_view text, std::vector<int32_t>& ids,
                          const EncodeOptions& options) const {
  ScratchLease lease(*scratches_, *parts_->model);
  size_t begin = 0, end = 0;  // of the text's ids, once they are there
  for (const Slot& slot : single_) {
    if (slot.id >= 0) {
      if (options.add_special_tokens) ids.push_back(slot.id);
    } else if (end == 0) {
      begin = ids.size();
      append(text, options, ids, *lease.scratch().model);
      end = ids.size();
    } else {  // a template that names the text twice
      for (size_t i = begin; i < end; ++i) ids.push_back(ids[i]);
    }
  }
}

Status Tokenizer::encode_to(std::string_view first, std::optional<std::string_view> second,
                            Encoding& out, const EncodeOptions& options,
                            const TruncateOptions& truncate) const {
  ScratchLease lease(*scratches_, *parts_->model);
  auto& [model, a, b] = lease.scratch();
  a.clear();
  b.clear();
  append(first, options, a, *model);
  if (second) append(*second, options, b, *model);
  const auto length = [](const auto& ids) { return static_cast<int64_t>(ids.size()); };
  const int64_t special =
      options.add_special_tokens ? special_token_count(second.has_value()) : int64_t{0};
  const KeptLengths kept = HONE_TRY(
      kept_lengths(length(a), second ? std::optional(length(b)) : std::nullopt, special, truncate));
  const auto part = [&](const std::vector<int32_t>& ids, int64_t count) {
    const std::span all(ids);
    const auto n = static_cast<size_t>(count);
    return truncate.left ? all.last(n) : all.first(n);
  };
  fill(second ? pair_ : single_, options.add_special_tokens, part(a, kept.first),
       part(b, kept.second), out);
  out.cut = kept.first + kept.second < length(a) + length(b);
  return Ok{};
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                        const EncodeOptions& options,
                                        const TruncateOptions& truncate) const {
  Encoding out;
  HONE_TRY(encode_to(first, second, out, options, truncate));
  return out;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  Encoding out;
  const Status done = encode_to(first, second, out, options, TruncateOptions{});
  HONE_BUG_IF(!done.ok(), "a pair that is not cut");
  return out;
}

TruncateOptions Tokenizer::truncate_options(Truncation strategy,
                                            std::optional<int64_t> max_length) const {
  if (!max_length) max_length = model_max_length();
  if (!max_length) strategy = Truncation::do_not_truncate;
  return {
      .strategy = strategy, .max_length = max_length.value_or(0), .left = parts_->truncates_left};
}

}  // namespace hone
