#include "learn/tokenizers/tokenizer.h"

#include "base/unicode/unicode.h"
#include "learn/tokenizers/scratch_pool.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {
constexpr uint8_t kHasToken = 1, kIsSpecial = 2, kIsByte = 4;

bool is_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Char c = decode_char(p, end);
    if (c.code == kInvalidChar) return false;
    p += c.length;
  }
  return true;
}
}  // namespace

Result<Tokenizer> Tokenizer::make(TokenizerParts parts) {
  HONE_BUG_IF(!parts.model, "Tokenizer::make without a model");
  Tokenizer t;
  t.parts_ = std::make_shared<const TokenizerParts>(std::move(parts));
  t.scratches_ = std::make_shared<ScratchPool>();
  const TokenizerParts& p = *t.parts_;
  const Vocabulary& vocabulary = p.model->vocabulary();

  int64_t limit = vocabulary.id_limit();
  for (const AddedToken& a : p.added.tokens()) limit = std::max<int64_t>(limit, a.id + 1);
  t.flags_.assign(static_cast<size_t>(limit), 0);
  std::vector<const AddedToken*> added(static_cast<size_t>(limit), nullptr);
  for (const AddedToken& a : p.added.tokens()) {
    added[static_cast<size_t>(a.id)] = &a;
    if (a.special) t.flags_[static_cast<size_t>(a.id)] |= kIsSpecial;
  }
  for (int64_t id = 0; id < limit; ++id) {
    const AddedToken* a = added[static_cast<size_t>(id)];
    const auto token = a ? std::optional<std::string_view>(a->content) : vocabulary.token(id);
    for (TokenBytes* bytes : {&t.bytes_, &t.first_bytes_}) {
      if (token && p.decoder)
        p.decoder->append_token(*token, bytes == &t.first_bytes_, bytes->all);
      else if (token)
        bytes->all += *token;
      bytes->ends.push_back(static_cast<uint32_t>(bytes->all.size()));
    }
    if (!token) continue;
    t.flags_[static_cast<size_t>(id)] |= kHasToken;
    if (p.decoder && p.decoder->byte_of(*token) >= 0) t.flags_[static_cast<size_t>(id)] |= kIsByte;
  }
  if (t.bytes_.ends == t.first_bytes_.ends && t.bytes_.all == t.first_bytes_.all)
    t.first_bytes_ = {};
  if (p.decoder) t.lead_ = p.decoder->lead();

  const std::pair<const std::string*, std::optional<int32_t>*> named[] = {{&p.bos, &t.bos_},
                                                                          {&p.eos, &t.eos_},
                                                                          {&p.pad, &t.pad_},
                                                                          {&p.unk, &t.unk_},
                                                                          {&p.mask, &t.mask_}};
  for (const auto& [token, id] : named)
    if (!token->empty()) *id = t.id_of(*token);

  t.single_ = t.slots(1);
  t.pair_ = t.slots(2);
  return t;
}

void Tokenizer::append(std::string_view text, const EncodeOptions& options,
                       std::vector<int32_t>& ids, ModelScratch& scratch) const {
  const TokenizerParts& p = *parts_;
  const auto on_token = [&](const AddedToken& token) { ids.push_back(token.id); };
  const auto on_piece = [&](std::string_view piece) { p.model->encode(piece, ids, scratch); };
  const char* start = nullptr;  // where the whole text, normalised, begins
  const auto on_text = [&](std::string_view part) {
    if (p.pre_tokenizer)
      p.pre_tokenizer->split(part, part.data() == start, on_piece);
    else
      on_piece(part);
  };
  ScratchString buffer;
  const auto on_raw = [&](std::string_view part) {
    const bool at_start = part.data() == text.data();
    if (p.normalizer) part = p.normalizer->normalize(part, *buffer);
    start = at_start ? part.data() : nullptr;
    p.added.split(part, /*normalized=*/true, options.split_special_tokens, on_text, on_token);
  };
  p.added.split(text, /*normalized=*/false, options.split_special_tokens, on_raw, on_token);
}

std::vector<std::vector<int32_t>> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                                          ThreadPool* pool,
                                                          const EncodeOptions& options) const {
  std::vector<std::vector<int32_t>> rows(texts.size());
  const auto one = [&](int64_t i) { rows[i] = encode(texts[i], options); };
  const auto count = static_cast<int64_t>(texts.size());
  if (!pool || pool->size() == 1 || count < 2) {
    for (int64_t i = 0; i < count; ++i) one(i);
    return rows;
  }
  // Contiguous shares of about the same number of bytes.
  std::vector<int64_t> bytes_before(texts.size() + 1, 0);
  for (size_t i = 0; i < texts.size(); ++i)
    bytes_before[i + 1] = bytes_before[i] + static_cast<int64_t>(texts[i].size()) + 32;
  const auto share = [&](int thread) {
    const int64_t target = bytes_before.back() / pool->size() * thread;
    return std::lower_bound(bytes_before.begin(), bytes_before.end() - 1, target) -
           bytes_before.begin();
  };
  pool->run([&](int thread) {
    const int64_t end = thread + 1 == pool->size() ? count : share(thread + 1);
    for (int64_t i = share(thread); i < end; ++i) one(i);
  });
  return rows;
}

std::string_view Tokenizer::TokenBytes::of(int32_t id) const {
  const uint32_t begin = id == 0 ? 0 : ends[static_cast<size_t>(id) - 1];
  return std::string_view(all).substr(begin, ends[static_cast<size_t>(id)] - begin);
}

void Tokenizer::decode_next(int32_t id, bool skip_special_tokens, DecodeState& state,
                            std::string& out) const {
  if (id < 0 || id >= id_limit()) return;
  const uint8_t flags = flags_[static_cast<size_t>(id)];
  if (!(flags & kHasToken) || (skip_special_tokens && (flags & kIsSpecial))) return;
  if (!parts_->decoder && !state.first) out += ' ';
  const bool first_differs = state.first && !first_bytes_.ends.empty();
  std::string_view bytes = (first_differs ? first_bytes_ : bytes_).of(id);
  state.first = false;
  while (state.lead_taken >= 0 && !bytes.empty()) {
    if (state.lead_taken < lead_.count && bytes.starts_with(lead_.content)) {
      bytes.remove_prefix(lead_.content.size());
      ++state.lead_taken;
    } else {
      state.lead_taken = -1;
    }
  }
  out += bytes;
}

std::string Tokenizer::decode_bytes(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::string out;
  DecodeState state;
  for (const int32_t id : ids) decode_next(id, skip_special_tokens, state, out);
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::string out;
  if (parts_->decoder) {
    std::vector<std::string_view> tokens;
    for (const int32_t id : ids)
      if (!(skip_special_tokens && is_special(id)))
        if (const auto token = spelling(id)) tokens.push_back(*token);
    if (parts_->decoder->append_all(tokens, out)) return lossy_utf8(out);
  }
  DecodeState state;
  // A run of byte tokens that is not UTF-8 is one U+FFFD for each of them.
  size_t run = 0;  // where it began in out
  bool in_run = false;
  const auto end_run = [&] {
    if (in_run && !is_utf8(std::string_view(out).substr(run))) {
      const size_t bytes = out.size() - run;
      out.resize(run);
      for (size_t i = 0; i < bytes; ++i) append_utf8(out, 0xFFFD);
    }
    in_run = false;
  };
  for (const int32_t id : ids) {
    if (id < 0 || id >= id_limit()) continue;
    const uint8_t flags = flags_[static_cast<size_t>(id)];
    if (skip_special_tokens && (flags & kIsSpecial)) continue;
    if (!(flags & kIsByte)) end_run();
    if ((flags & kIsByte) && !in_run) run = out.size(), in_run = true;
    decode_next(id, false, state, out);
  }
  end_run();
  return lossy_utf8(out);
}

int64_t Tokenizer::vocab_size() const {
  return parts_->model->vocabulary().size() + parts_->added.beyond_vocabulary();
}

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const {
  if (const AddedToken* a = parts_->added.find(token)) return a->id;
  return parts_->model->vocabulary().find(token);
}

std::optional<std::string_view> Tokenizer::spelling(int32_t id) const {
  if (id < 0 || id >= id_limit() || !(flags_[static_cast<size_t>(id)] & kHasToken))
    return std::nullopt;
  if (const AddedToken* a = parts_->added.find(static_cast<int64_t>(id))) return a->content;
  return parts_->model->vocabulary().token(id);
}

std::optional<std::string> Tokenizer::token_of(int32_t id) const {
  const auto token = spelling(id);
  return token ? std::optional(std::string(*token)) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < id_limit() && (flags_[static_cast<size_t>(id)] & kIsSpecial);
}

}  // namespace hone
