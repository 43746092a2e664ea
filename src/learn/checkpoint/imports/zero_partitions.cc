#include "learn/checkpoint/imports/zero_partitions.h"

#include <algorithm>

#include "learn/checkpoint/imports/errors.h"

namespace hone {
namespace {

using Kind = PickleKind;

constexpr int64_t kMostRanks = int64_t{1} << 20;

Error zero_damaged(const std::string& file, const std::string& what) {
  return Error(err::kImportDamaged, fmt::format("'{}' {}", file, what))
      .todo("copy the whole checkpoint again: the files of all ranks belong together");
}

// An integer, or an enumeration's value.
int64_t whole_of(const PickleValue& v) {
  return v.is(Kind::object) ? v.args()[0].integer() : v.integer();
}

// Takes the flat tensor number k of a kind.
Status take_flat(ZeroRank& rank, const std::string& kind, const PickleValue& tensor) {
  const bool first = kind == "fp32";
  size_t k = first ? rank.elements.size() : 0;
  if (!first)
    while (rank.file->find(fmt::format("{}.{}", kind, k)) != nullptr) ++k;
  const std::string name = fmt::format("{}.{}", kind, k);
  HONE_TRY(rank.file->take(name, tensor));
  const int64_t count = rank.file->find(name)->type.count();
  if (first) {
    rank.elements.push_back(count);
  } else if (k >= rank.elements.size() || rank.elements[k] != count) {
    return zero_damaged(rank.file->path(),
                        fmt::format("has {} elements of the state '{}' for {} weights", count, kind,
                                    k < rank.elements.size() ? rank.elements[k] : 0));
  }
  if (std::find(rank.kinds.begin(), rank.kinds.end(), kind) == rank.kinds.end())
    rank.kinds.push_back(kind);
  return Ok{};
}

// Takes the states of one flat tensor: {"step": ..., "exp_avg": tensor, ...}.
Status take_states(ZeroRank& rank, const PickleValue& states, UpdateCount& updates) {
  for (int64_t i = 0; i < torch_entries(states); ++i) {
    const std::string state(torch_key(states, i).text());
    const PickleValue value = torch_entry(states, i);
    if (state == "step") {
      if (const auto number = number_of(value)) {
        HONE_TRY(updates.add(*number, "a group"));
        continue;
      }
      if (!is_torch_tensor(value)) continue;
      const std::string name = fmt::format("step.{}", rank.file->tensors().size());
      HONE_TRY(rank.file->take(name, value));
      HONE_TRY(updates.add(*rank.file, name, "a group"));
    } else if (is_torch_tensor(value) && state != "fp32") {
      HONE_TRY(take_flat(rank, state, value));
    }
  }
  return Ok{};
}

// The states of all flat tensors, from a state dict, or from a list of them with one count of updates
// ("elastic" checkpoints).
Status take_all_states(ZeroRank& rank, const PickleValue& base, const PickleValue& step) {
  UpdateCount updates(rank.file->path());
  if (base.is(Kind::list)) {
    for (int64_t k = 0; k < base.size(); ++k) HONE_TRY(take_states(rank, base[k], updates));
    if (const auto n = number_of(step)) HONE_TRY(updates.add(*n, "all groups"));
    rank.optimizer.updates = updates.value();
    return Ok{};
  }
  const PickleValue states = torch_find(base, "state"), groups = torch_find(base, "param_groups");
  if (!is_torch_dict(states)) return zero_damaged(rank.file->path(), "has no optimizer states");
  add_arguments(rank.optimizer.arguments, groups);
  std::map<int64_t, PickleValue> by_number;
  for (int64_t i = 0; i < torch_entries(states); ++i)
    by_number.emplace(torch_key(states, i).integer(), torch_entry(states, i));
  for (const auto& [number, one] : by_number) HONE_TRY(take_states(rank, one, updates));
  rank.optimizer.updates = updates.value();
  return Ok{};
}

Status read_slices(ZeroRank& rank, const PickleValue& mappings) {
  for (int64_t k = 0; k < mappings.size(); ++k) {
    rank.slices.emplace_back();
    for (int64_t i = 0; i < torch_entries(mappings[k]); ++i) {
      const PickleValue address = torch_entry(mappings[k], i);
      if (!address.callable().is_global("deepspeed.utils.tensor_fragment.fragment_address"))
        return refused_class(rank.file->path(), torch_class(address),
                             "save the checkpoint with a released version of DeepSpeed");
      // A dataclass, or a named tuple in older versions.
      const PickleValue state = address.state(), args = address.args();
      const bool named = state.pairs() > 0;
      const int64_t count = named ? state.find("numel").integer() : args[0].integer(),
                    begin = named ? state.find("start").integer() : args[1].integer();
      const int64_t most = rank.elements[static_cast<size_t>(k)];
      if (begin < 0 || count < 0 || begin > most || count > most - begin)
        return zero_damaged(rank.file->path(),
                            fmt::format("has {} elements at {} of {}", count, begin, most));
      rank.slices.back().push_back({std::string(torch_key(mappings[k], i).text()), begin, count});
    }
  }
  return Ok{};
}

// Elements [begin, begin + count) of a rank's flat tensors from number k on, one after another, are those of
// a tensor of `elements` from number `to` on.
Status add_flat(const ZeroRank& rank, const std::string& kind, size_t k, int64_t begin,
                int64_t count, int64_t elements, int64_t to, std::vector<TensorPiece>& pieces) {
  for (; count > 0 && k < rank.elements.size(); ++k) {
    if (begin >= rank.elements[k]) {
      begin -= rank.elements[k];
      continue;
    }
    const int64_t n = std::min(count, rank.elements[k] - begin);
    pieces.push_back(flat_piece(*rank.file, fmt::format("{}.{}", kind, k), begin, elements, to, n));
    begin = 0;
    to += n;
    count -= n;
  }
  if (count == 0) return Ok{};
  return zero_damaged(rank.file->path(),
                      fmt::format("has {} elements too few of the state '{}'", count, kind));
}

using Pieces = std::map<std::string, std::vector<TensorPiece>>;

// Stage 3: each rank has a part of each weight.
Status add_stage3(const std::vector<ZeroRank>& ranks, const ZeroGroups& groups,
                  const std::string& kind, Pieces& pieces) {
  const auto count = static_cast<int64_t>(ranks.size());
  int64_t at = 0;
  for (const auto& group : groups)
    for (const NamedShape& weight : group) {
      const int64_t elements = Type{DType::u8, weight.shape}.count();
      const int64_t part = stage3_part(elements, count);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t to = std::min(r * part, elements);
        HONE_TRY(add_flat(ranks[static_cast<size_t>(r)], kind, 0, at, std::min(part, elements - to),
                          elements, to, pieces[weight.name]));
      }
      at += part;
    }
  return Ok{};
}

// Stages 1 and 2: a group of weights is one flat tensor, and each rank has a part of it.
Status add_group(const std::vector<ZeroRank>& ranks, const std::vector<NamedShape>& group, size_t k,
                 const std::string& kind, Pieces& pieces) {
  std::map<std::string, std::pair<int64_t, int64_t>> done;  // elements of a weight: placed, all
  for (const NamedShape& weight : group)
    done[weight.name] = {0, Type{DType::u8, weight.shape}.count()};
  size_t next = 0;  // weight, where ranks do not say what they hold
  for (const ZeroRank& rank : ranks) {
    if (k >= rank.elements.size())
      return zero_damaged(rank.file->path(), fmt::format("has no group {} of weights", k));
    std::vector<ZeroRank::Slice> slices;
    if (!rank.slices.empty()) {
      slices = k < rank.slices.size() ? rank.slices[k] : slices;
    } else {
      for (int64_t at = 0; at < rank.elements[k] && next < group.size();) {
        const auto& [placed, all] = done[group[next].name];
        const int64_t n = std::min(rank.elements[k] - at, all - placed);
        slices.push_back({group[next].name, at, n});
        at += n;
        if (placed + n < all) break;
        ++next;
      }
    }
    for (const ZeroRank::Slice& s : slices) {
      const auto weight = done.find(s.name);
      if (weight == done.end())
        return zero_damaged(rank.file->path(), fmt::format("has elements of '{}', which the "
                                                           "model does not list",
                                                           s.name));
      auto& [placed, all] = weight->second;
      if (s.count > all - placed)
        return zero_damaged(rank.file->path(),
                            fmt::format("has too many elements of '{}'", s.name));
      pieces[s.name].push_back(
          flat_piece(*rank.file, fmt::format("{}.{}", kind, k), s.begin, all, placed, s.count));
      placed += s.count;
    }
  }
  return Ok{};
}

}  // namespace

Result<ZeroRank> read_zero_rank(std::shared_ptr<TorchObject> file) {
  ZeroRank rank;
  rank.file = std::move(file);
  const std::string& path = rank.file->path();
  const PickleValue state = torch_find(rank.file->root(), "optimizer_state_dict");
  if (!is_torch_dict(state)) return zero_damaged(path, "has no optimizer_state_dict");
  rank.stage = whole_of(torch_find(state, "zero_stage"));
  const PickleValue count = torch_find(state, "partition_count");
  rank.ranks = count.size() > 0 ? count[0].integer() : count.integer();
  for (int64_t k = 1; k < count.size(); ++k)
    if (count[k].integer() != rank.ranks)
      return Error(err::kImportNotSupported,
                   fmt::format("'{}' has groups of weights on {} and on {} ranks", path, rank.ranks,
                               count[k].integer()))
          .todo("mixtures of experts in DeepSpeed's form are not supported");
  if (rank.ranks < 1 || rank.ranks > kMostRanks)
    return zero_damaged(path, fmt::format("is of {} ranks", rank.ranks));
  const PickleValue flat3 = torch_find(state, "fp32_flat_groups"),
                    flat = torch_find(state, "single_partition_of_fp32_groups");
  // BF16_Optimizer, which has no stage in its file, divides weights as stage 1 does.
  if (rank.stage == 0 && flat.size() > 0) rank.stage = 1;
  const PickleValue tensors = rank.stage == 3 ? flat3 : flat;
  if (rank.stage < 1 || rank.stage > 3 || tensors.size() == 0)
    return zero_damaged(path, fmt::format("has no flat weights of ZeRO stage {}", rank.stage));
  for (int64_t k = 0; k < tensors.size(); ++k) {
    if (!is_torch_tensor(tensors[k])) return zero_damaged(path, "has flat weights of another form");
    HONE_TRY(take_flat(rank, "fp32", tensors[k]));
  }
  PickleValue base = torch_find(state, "base_optimizer_state");
  if (base.is(Kind::none)) base = torch_find(state, "optimizer_state_dict");
  HONE_TRY(take_all_states(rank, base, torch_find(state, "base_optimizer_state_step")));
  const PickleValue mappings = torch_find(state, "param_slice_mappings");
  if (rank.stage < 3 && mappings.size() > 0) {
    if (mappings.size() != static_cast<int64_t>(rank.elements.size()))
      return zero_damaged(path, "describes another number of groups than it has");
    HONE_TRY(read_slices(rank, mappings));
  }
  const PickleValue scaler = torch_find(state, "loss_scaler");
  rank.loss_scale = number_of(scaler.is(Kind::object) ? scaler.state().find("cur_scale") : scaler);
  rank.file->forget_values();
  return rank;
}

Result<Pieces> zero_pieces(const std::vector<ZeroRank>& ranks, const ZeroGroups& groups,
                           const std::string& kind) {
  Pieces pieces;
  for (const auto& group : groups)
    for (const NamedShape& weight : group) pieces[weight.name];
  if (ranks[0].stage == 3)
    HONE_TRY(add_stage3(ranks, groups, kind, pieces));
  else
    for (size_t k = 0; k < groups.size(); ++k)
      HONE_TRY(add_group(ranks, groups[k], k, kind, pieces));
  for (const auto& group : groups)
    for (const NamedShape& weight : group)
      if (const std::string fault = fault_of_pieces(weight.shape, pieces[weight.name]);
          !fault.empty())
        return zero_damaged(ranks[0].file->path(),
                            fmt::format("and the others: '{}' {}", weight.name, fault));
  return pieces;
}

}  // namespace hone
