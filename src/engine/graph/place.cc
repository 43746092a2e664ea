#include "engine/graph/place.h"

#include "engine/graph/errors.h"

namespace hone {
namespace {

constexpr std::array<std::string_view, kSpaces.size()> kSpaceNames{"device", "host", "disk"};
constexpr std::array<std::string_view, kLaneCount> kLaneNames{
    "compute", "load", "store", "disk_read", "disk_write", "host_compute", "comm"};

}  // namespace

std::string_view name_of(Space s) { return kSpaceNames[static_cast<size_t>(s)]; }
Result<Space> space_named(std::string_view name) {
  for (const Space s : kSpaces)
    if (name_of(s) == name) return s;
  return Error(err::kBadProgramText, fmt::format("'{}' is not a space", name));
}

std::string_view name_of(Lane l) { return kLaneNames[static_cast<size_t>(l)]; }
Result<Lane> lane_named(std::string_view name) {
  for (size_t i = 0; i < kLaneNames.size(); ++i)
    if (kLaneNames[i] == name) return static_cast<Lane>(i);
  return Error(err::kBadProgramText, fmt::format("'{}' is not a lane", name));
}

Lane lane_between(Space from, Space to) {
  if (from == Space::disk) return Lane::disk_read;
  if (to == Space::disk) return Lane::disk_write;
  return to == Space::device ? Lane::load : Lane::store;
}

}  // namespace hone
