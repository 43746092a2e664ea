#include "engine/device/rank_messages.h"

#include <algorithm>

namespace hone {

RankMessages::RankMessages(const RankWork& work) {
  for (const RankRound& r : work.rounds) {
    sends.reserve(std::max(sends.capacity(), r.sends.size()));
    receives.reserve(std::max(receives.capacity(), r.receives.size()));
  }
}

void RankMessages::set(const RankRound& round, const KernelArgs& a) {
  sends.clear();
  receives.clear();
  for (const RankSend& s : round.sends) {
    const std::byte* from =
        s.of_result ? rank_result(a, s.piece.tensor, s.piece.begin) : rank_operand(a, s.piece);
    sends.push_back({s.to, {from, static_cast<size_t>(s.piece.bytes)}});
  }
  for (const RankReceive& r : round.receives) {
    std::byte* to = r.scratch >= 0 ? static_cast<std::byte*>(a.workspace) + r.scratch
                                   : rank_result(a, r.piece.tensor, r.piece.begin);
    receives.push_back({r.from, {to, static_cast<size_t>(r.piece.bytes)}});
  }
}

}  // namespace hone
