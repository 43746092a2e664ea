#include "engine/graph/builder.h"

namespace hone {

Values Builder::emit(std::string_view name, Values in, Attrs attrs) {
  const Op* op = program_.ops().find(name);
  HONE_BUG_IF(!op, "no op is named {}", name);
  while (!in.empty() && in.back() == kNoValue) in.pop_back();
  Node node{op, std::move(in), {}, std::move(attrs), scope_, phase_};
  const Status fits = check_node({program_, node});
  Result<Types> types = fits.ok() ? op->infer({program_, node}) : Result<Types>(fits.error());
  if (!types) throw BuildError(scope_.empty() ? types.error() : types.error().at(scope_));
  const int32_t index = static_cast<int32_t>(program_.nodes.size());
  for (Type& t : *types) node.out.push_back(program_.new_value(std::move(t), index));
  if (op->waits || op->copies) {
    const Space space = result_space({program_, node}, 0);
    if (op->copies) node.lane = lane_between(program_.space(node.in[0]), space);
    program_.values.back().space = space;
  }
  if (op->traffic) node.lane = Lane::comm;
  program_.nodes.push_back(std::move(node));
  return program_.nodes.back().out;
}

}  // namespace hone
