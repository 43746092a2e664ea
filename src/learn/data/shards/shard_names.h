// Names that shards.cc and prepare_shards.cc share.
#pragma once

#include <array>

namespace hone {

inline constexpr const char* kShardManifest = "hone_shards.json";
// Beside the shards while they are made: settings, sources, finished shards, place in the text.
inline constexpr const char* kShardProgress = "hone_progress.json";
// The folder of leases and results while several processes make them.
inline constexpr const char* kShardWork = "work";
// All possible names of splits.
inline constexpr std::array kSplits = {"train", "validation", "validation_mismatched", "test",
                                       "test_mismatched"};

}  // namespace hone
