#include "learn/checkpoint/safetensors/stacked_weights.h"

#include <algorithm>
#include <map>
#include <set>

#include "learn/checkpoint/safetensors/derived_weights.h"

namespace hone {
namespace {

// Elements first to first + count - 1 of a tensor of the base.
struct Member {
  std::string tensor;
  int64_t first = 0;
};

class JoinedMembers final : public DerivedWeights {
 public:
  explicit JoinedMembers(std::unique_ptr<WeightSource> base) : DerivedWeights(std::move(base)) {}
  void join(TensorInfo info, std::vector<Member> members) {
    members_[tensors_.size()] = std::move(members);
    take(std::move(info), "");
  }

 protected:
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    const auto found = members_.find(index);
    if (found == members_.end()) return DerivedWeights::read_elements_of(index, as, first, out);
    const Type& type = tensors()[index].type;
    const int64_t each = type.count() / type.shape[0], size = size_of(as);
    while (!out.empty()) {
      const Member& m = found->second[static_cast<size_t>(first / each)];
      const int64_t here = first % each,
                    count = std::min(each - here, static_cast<int64_t>(out.size()) / size);
      HONE_TRY(base_->read_range(m.tensor, as, m.first + here,
                                 out.first(static_cast<size_t>(count * size))));
      out = out.subspan(static_cast<size_t>(count * size));
      first += count;
    }
    return Ok{};
  }

 private:
  std::map<size_t, std::vector<Member>> members_;  // by tensor
};

struct Joined {
  TensorInfo info;
  std::vector<Member> members;
};

// Joins members by their numbers.
Joined join_by_number(const WeightSource& weights, const std::string& name) {
  Joined j;
  while (const TensorInfo* t =
             weights.find(member_name(name, static_cast<int64_t>(j.members.size())))) {
    if (j.members.empty()) j.info = *t;
    if (t->type != j.info.type || t->scheme != j.info.scheme) break;
    j.members.push_back({t->name});
  }
  if (!j.members.empty())
    j.info.type.shape.insert(j.info.type.shape.begin(), static_cast<int64_t>(j.members.size()));
  j.info.bytes *= static_cast<int64_t>(j.members.size());
  return j;
}

// Takes the part out of one tensor that holds several.
Joined part_of_merged(const WeightSource& weights, const StackedTensor& s) {
  Joined j;
  const TensorInfo* t = s.merged.empty() ? nullptr : weights.find(s.merged);
  if (t == nullptr || t->type.shape.size() != 3 || t->type.shape[1] % s.parts != 0) return j;
  j.info = *t;
  j.info.type.shape[1] /= s.parts;
  j.info.bytes /= s.parts;
  const int64_t each = j.info.type.shape[1] * j.info.type.shape[2];
  for (int64_t e = 0; e < t->type.shape[0]; ++e)
    j.members.push_back({t->name, (e * s.parts + s.part) * each});
  return j;
}

}  // namespace

std::string member_name(std::string_view stacked, int64_t number) {
  std::string name(stacked);
  const size_t at = name.find(kMemberMark);
  return at == name.npos ? name : name.replace(at, 1, std::to_string(number));
}

std::unique_ptr<WeightSource> join_stacked(std::unique_ptr<WeightSource> weights,
                                           const std::vector<StackedTensor>& tensors) {
  std::map<std::string, std::vector<Joined>> at;  // by the first of their members
  std::set<std::string> members;
  for (const StackedTensor& s : tensors) {
    Joined j = join_by_number(*weights, s.name);
    if (j.members.empty()) j = part_of_merged(*weights, s);
    if (j.members.empty()) continue;
    for (const Member& m : j.members) members.insert(m.tensor);
    j.info.name = s.name;
    j.info.blocks.clear();
    at[j.members.front().tensor].push_back(std::move(j));
  }
  if (members.empty()) return weights;
  auto joined = std::make_unique<JoinedMembers>(std::move(weights));
  for (const TensorInfo& t : joined->base().tensors()) {
    if (!members.contains(t.name)) joined->keep(t);
    if (const auto found = at.find(t.name); found != at.end())
      for (Joined& j : found->second) joined->join(std::move(j.info), std::move(j.members));
  }
  return joined;
}

std::vector<TensorData> split_stacked(std::vector<TensorData> tensors) {
  std::vector<TensorData> all;
  for (TensorData& t : tensors) {
    if (!is_stacked(t.name)) {
      all.push_back(std::move(t));
      continue;
    }
    const int64_t count = t.type.shape[0];
    const Type each{t.type.dtype, Shape(t.type.shape.begin() + 1, t.type.shape.end())};
    for (int64_t i = 0; i < count; ++i) {
      TensorData one{member_name(t.name, i), each, {}, t.as};
      if (t.blocks) {
        HONE_BUG_IF(!t.rows, "the members of '{}' cannot be read one by one", t.name);
        one.blocks = [rows = t.rows, i](BlockSink sink) { return rows(i, i + 1, sink); };
      } else {
        const auto bytes = static_cast<size_t>(each.bytes());
        one.bytes = t.bytes.subspan(static_cast<size_t>(i) * bytes, bytes);
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

TensorData tensor_of(const WeightSource& weights, const std::string& tensor, std::string name,
                     DType dtype) {
  constexpr int64_t kMostBytes = int64_t{4} << 20;
  const TensorInfo* info = weights.find(tensor);
  HONE_BUG_IF(info == nullptr, "no tensor '{}'", tensor);
  const Type type{dtype, info->type.shape};
  const auto elements = [&weights, tensor, dtype](int64_t first, int64_t end,
                                                  BlockSink sink) -> Status {
    const int64_t size = size_of(dtype), most = kMostBytes / size;
    std::vector<std::byte> block(static_cast<size_t>(std::min(most, end - first) * size));
    for (; first < end; first += most) {
      const auto bytes = static_cast<size_t>(std::min(most, end - first) * size);
      HONE_TRY(weights.read_range(tensor, dtype, first, std::span(block).first(bytes)));
      HONE_TRY(sink(std::span<const std::byte>(block).first(bytes)));
    }
    return Ok{};
  };
  const int64_t count = type.count(),
                row = type.shape.empty() ? 1 : count / std::max<int64_t>(type.shape[0], 1);
  TensorData t{std::move(name), type, {}, {}};
  t.blocks = [=](BlockSink sink) { return elements(0, count, sink); };
  t.rows = [=](int64_t begin, int64_t end, BlockSink sink) {
    return elements(begin * row, end * row, sink);
  };
  return t;
}

}  // namespace hone
