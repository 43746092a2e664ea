// Names of files in a folder of shards, and of splits.
#pragma once

#include <array>

namespace hone {

inline constexpr const char* kShardManifest = "hone_shards.json";
// A file that exists only while shards are made. It has settings, sources, finished shards, and the text position.
inline constexpr const char* kShardProgress = "hone_progress.json";
// The folder of leases and results. It exists only while several processes make the shards.
inline constexpr const char* kShardWork = "work";
// The names that a split may have.
inline constexpr std::array kSplits = {"train", "validation", "validation_mismatched", "test",
                                       "test_mismatched"};

}  // namespace hone
