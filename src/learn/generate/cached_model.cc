#include "learn/generate/cached_model.h"

#include <tuple>

namespace hone {

CachedModel::CachedModel(Session& session, const ModelConfig& config, const CacheLimits& limits)
    : session_(session),
      limits_(limits),
      vocab_(config.vocab),
      pool_(limits.pages()),
      source_pool_(limits.source_pages()),
      state_pool_(limits.rows) {
  for (const CachedShape& s : cached_shapes(limits)) {
    const size_t p = session.program_index(cached_name(s));
    auto in = [&](const char* name) { return session.input<int32_t>(p, name).data(); };
    if (s.encodes) {
      encoders_.push_back({p, s, in("encoder_ids"), in("encoder_positions"),
                           in("encoder_cu_seqlens"), in("cross_slots")});
      continue;
    }
    bound_.push_back({p, s, in("ids"), in("positions"), in("cu_seqlens"), in("cu_cache"),
                      in("block_table"), in("slots"), in("rows"),
                      session.output<float>(p, "logits").data()});
    if (s.source_pages > 0) {
      bound_.back().cu_cross = in("cu_cross");
      bound_.back().cross_table = in("cross_table");
    }
    if (session.has_input(p, "state_from")) {
      bound_.back().state_from = in("state_from");
      bound_.back().state_to = in("state_to");
    }
  }
  for (int64_t i = 0; i < config.layers; ++i)
    for (char which : {'k', 'v'}) {
      const std::string name = cache_name(i, which);
      if (!session.has_state(name)) continue;  // it has none, or reads another's
      states_.push_back(
          {session.state_index(name), session.state_slot(name).type.bytes() / limits.pages()});
    }
  chunks_.reserve(static_cast<size_t>(limits.rows));
  copies_.reserve(static_cast<size_t>(limits.rows));
  state_copies_.reserve(copies_.capacity() * states_.size());
}

// Programs are in rising order; the last is the one for all that is larger.
const CachedModel::Bound& CachedModel::smallest(int64_t tokens, int64_t sequences) const {
  for (const Bound& b : bound_)
    if (b.shape.tokens >= tokens && b.shape.sequences >= sequences) return b;
  return bound_.back();
}

// A page that is copied has another user, so none of `copies_` is written to before.
void CachedModel::copy_pages() {
  state_copies_.clear();
  for (const PageCopy& c : copies_)
    for (const CacheState& s : states_)
      state_copies_.push_back({s.state, c.to * s.page_bytes, c.from * s.page_bytes,
                               s.page_bytes / limits_.page * c.tokens});
  session_.copy_states(state_copies_);
  copies_.clear();
}

// Pages for `tokens` more, of which the first is this entry's alone once copies_ are made.
void CachedModel::make_room(CacheEntry& e, int64_t tokens) {
  HONE_BUG_IF(e.length + tokens > limits_.tokens, "{} tokens where {} were planned",
              e.length + tokens, limits_.tokens);
  const int64_t used = e.length % limits_.page;
  if (used > 0 && pool_.shared(e.pages.back())) {
    PageList old{e.pages.back()};
    e.pages.back() = pool_.take();
    copies_.push_back({old[0], e.pages.back(), used});
    pool_.drop(old);
  }
  while (static_cast<int64_t>(e.pages.size()) * limits_.page < e.length + tokens)
    e.pages.push_back(pool_.take());
}

void CachedModel::run_encoder(std::span<const Feed> sources) {
  int64_t tokens = 0;
  for (const Feed& f : sources) tokens += static_cast<int64_t>(f.tokens.size());
  const BoundEncoder* b = &encoders_.back();
  for (const BoundEncoder& e : encoders_)
    if (e.shape.tokens >= tokens && e.shape.tokens < b->shape.tokens) b = &e;
  int32_t t = 0;
  int64_t s = 0;
  b->cu_seqlens[0] = 0;
  for (const Feed& f : sources) {
    CacheEntry& e = *f.cache;
    HONE_BUG_IF(e.source_length > 0, "a source is read once");
    e.source_length = static_cast<int64_t>(f.tokens.size());
    while (static_cast<int64_t>(e.source_pages.size()) * limits_.page < e.source_length)
      e.source_pages.push_back(source_pool_.take());
    for (int64_t i = 0; i < e.source_length; ++i, ++t) {
      b->ids[t] = f.tokens[static_cast<size_t>(i)];
      b->positions[t] = static_cast<int32_t>(i);
      b->slots[t] = static_cast<int32_t>(
          e.source_pages[static_cast<size_t>(i / limits_.page)] * limits_.page + i % limits_.page);
    }
    b->cu_seqlens[++s] = t;
  }
  std::fill(b->ids + t, b->ids + b->shape.tokens, 0);
  std::fill(b->positions + t, b->positions + b->shape.tokens, 0);
  std::fill(b->slots + t, b->slots + b->shape.tokens, -1);
  std::fill(b->cu_seqlens + s + 1, b->cu_seqlens + b->shape.sequences + 1, t);
  session_.run(b->program);
}

void CachedModel::encode(std::span<const Feed> sources) {
  HONE_BUG_IF(encoders_.empty() || static_cast<int64_t>(sources.size()) > limits_.sources,
              "{} sources where {} were planned", sources.size(), limits_.sources);
  const int64_t most = encoders_.back().shape.tokens;
  for (size_t begin = 0, end = 0; begin < sources.size(); begin = end) {
    int64_t tokens = 0;
    for (end = begin; end < sources.size(); ++end) {
      const auto n = static_cast<int64_t>(sources[end].tokens.size());
      HONE_BUG_IF(n < 1 || n > limits_.longest_source,
                  "a source of {} tokens where {} were planned", n, limits_.longest_source);
      if (tokens + n > most) break;
      tokens += n;
    }
    run_encoder(sources.subspan(begin, end - begin));
  }
}

CacheEntry CachedModel::fork(const CacheEntry& e) {
  CacheEntry copy;
  copy.source_pages = source_pool_.share(e.source_pages);
  copy.source_length = e.source_length;
  copy.pages.reserve(static_cast<size_t>(limits_.blocks()));
  copy.pages = pool_.share(e.pages);
  copy.length = e.length;
  copy.state_row = state_pool_.share(e.state_row);
  return copy;
}

int64_t CachedModel::most_tokens() const { return bound_.back().shape.tokens; }

void CachedModel::drop(CacheEntry& e) {
  pool_.drop(e.pages);
  e.length = 0;
  source_pool_.drop(e.source_pages);
  e.source_length = 0;
  state_pool_.drop(e.state_row);
}

// States are read of all sequences before any is written, so a row that others share is only read: the first of
// them to run takes another row.
std::pair<int32_t, int32_t> CachedModel::take_state_row(CacheEntry& e) {
  const int32_t from = e.state_row.empty() ? -1 : e.state_row[0];
  if (from < 0) {
    e.state_row.push_back(state_pool_.take());
  } else if (state_pool_.shared(from)) {
    PageList old{from};
    e.state_row[0] = state_pool_.take();
    state_pool_.drop(old);
  }
  return {from, e.state_row[0]};
}

void CachedModel::run_chunks(const Bound& b, std::span<const Feed> feeds,
                             std::span<const Chunk> chunks, bool each_token) {
  int32_t t = 0, cached = 0, crossed = 0;
  int64_t s = 0;
  b.cu_seqlens[0] = b.cu_cache[0] = 0;
  if (b.cu_cross != nullptr) b.cu_cross[0] = 0;
  for (const Chunk& c : chunks) {
    CacheEntry& e = *feeds[c.feed].cache;
    make_room(e, c.count);
    for (int64_t i = 0; i < c.count; ++i, ++t) {
      const int64_t at = e.length + i;
      b.ids[t] = feeds[c.feed].tokens[static_cast<size_t>(c.begin + i)];
      b.positions[t] = static_cast<int32_t>(at);
      b.slots[t] = static_cast<int32_t>(
          e.pages[static_cast<size_t>(at / limits_.page)] * limits_.page + at % limits_.page);
    }
    e.length += c.count;
    cached += static_cast<int32_t>(e.length);
    b.rows[s] = t - 1;
    std::copy(e.pages.begin(), e.pages.end(), b.block_table + s * b.shape.blocks);
    // Places past the sequence's pages are not read; any page number is valid there.
    std::fill(b.block_table + s * b.shape.blocks + static_cast<int64_t>(e.pages.size()),
              b.block_table + (s + 1) * b.shape.blocks, 0);
    if (b.cu_cross != nullptr) {
      crossed += static_cast<int32_t>(e.source_length);
      b.cu_cross[s + 1] = crossed;
      int32_t* row = b.cross_table + s * b.shape.source_blocks;
      std::copy(e.source_pages.begin(), e.source_pages.end(), row);
      std::fill(row + e.source_pages.size(), row + b.shape.source_blocks, 0);
    }
    if (b.state_from != nullptr) std::tie(b.state_from[s], b.state_to[s]) = take_state_row(e);
    ++s;
    b.cu_seqlens[s] = t;
    b.cu_cache[s] = cached;
  }
  std::fill(b.ids + t, b.ids + b.shape.tokens, 0);
  std::fill(b.positions + t, b.positions + b.shape.tokens, 0);
  std::fill(b.slots + t, b.slots + b.shape.tokens, -1);
  std::fill(b.rows + s, b.rows + b.shape.sequences, -1);
  if (each_token)
    for (int32_t row = 0; row < t; ++row) b.rows[row] = row;
  if (b.state_from != nullptr) {
    std::fill(b.state_from + s, b.state_from + b.shape.sequences, -1);
    std::fill(b.state_to + s, b.state_to + b.shape.sequences, -1);
  }
  std::fill(b.block_table + s * b.shape.blocks, b.block_table + b.shape.sequences * b.shape.blocks,
            0);
  std::fill(b.cu_seqlens + s + 1, b.cu_seqlens + b.shape.sequences + 1, t);
  std::fill(b.cu_cache + s + 1, b.cu_cache + b.shape.sequences + 1, cached);
  if (b.cu_cross != nullptr) {
    std::fill(b.cu_cross + s + 1, b.cu_cross + b.shape.sequences + 1, crossed);
    std::fill(b.cross_table + s * b.shape.source_blocks,
              b.cross_table + b.shape.sequences * b.shape.source_blocks, 0);
  }
  copy_pages();
  session_.run(b.program);
}

std::span<const float> CachedModel::run(std::span<const Feed> feeds) {
  HONE_BUG_IF(feeds.empty() || static_cast<int64_t>(feeds.size()) > limits_.rows,
              "{} sequences where {} were planned", feeds.size(), limits_.rows);
  int64_t left = 0;
  for (const Feed& f : feeds) left += static_cast<int64_t>(f.tokens.size());
  const auto V = static_cast<size_t>(vocab_);
  // Each token is then a sequence of its own over the pages of its entry.
  const bool one_by_one = !encoders_.empty();
  size_t feed = 0;
  int64_t begin = 0;
  for (bool first = true; left > 0; first = false) {
    const Bound& b = smallest(left, one_by_one ? left : static_cast<int64_t>(feeds.size() - feed));
    int64_t room = b.shape.tokens;
    chunks_.clear();
    while (room > 0 && feed < feeds.size() &&
           static_cast<int64_t>(chunks_.size()) < b.shape.sequences) {
      const auto all = static_cast<int64_t>(feeds[feed].tokens.size());
      HONE_BUG_IF(all == 0, "a feed without tokens");
      const int64_t count = one_by_one ? 1 : std::min(room, all - begin);
      chunks_.push_back({feed, begin, count});
      room -= count;
      left -= count;
      begin += count;
      if (begin == all) {
        ++feed;
        begin = 0;
      }
    }
    run_chunks(b, feeds, chunks_);
    if (first && left == 0 && chunks_.size() == feeds.size()) return {b.logits, feeds.size() * V};
    gathered_.resize(static_cast<size_t>(limits_.rows) * V);
    // A feed that continues in the next run leaves logits that the next run replaces.
    for (size_t i = 0; i < chunks_.size(); ++i)
      std::memcpy(gathered_.data() + chunks_[i].feed * V, b.logits + i * V, V * sizeof(float));
  }
  return {gathered_.data(), feeds.size() * V};
}

// Each token is a sequence of its own over the pages of the entry; if the layers carry states, all are one.
std::span<const float> CachedModel::run_each(const Feed& feed) {
  const auto count = static_cast<int64_t>(feed.tokens.size());
  HONE_BUG_IF(count < 1 || count > limits_.rows, "{} tokens where {} were planned", count,
              limits_.rows);
  chunks_.clear();
  const Bound& b = smallest(count, count);
  if (b.state_from != nullptr)
    chunks_.push_back({0, 0, count});
  else
    for (int64_t i = 0; i < count; ++i) chunks_.push_back({0, i, 1});
  run_chunks(b, {&feed, 1}, chunks_, b.state_from != nullptr);
  return {b.logits, static_cast<size_t>(count * vocab_)};
}

}  // namespace hone
