#include "base/store/places/object_writer.h"

#include "base/store/crc32c.h"
#include "base/store/places/in_parallel.h"

namespace hone {

ObjectWriter::~ObjectWriter() {
  for (std::future<Status>& f : in_flight_) f.wait();
}

Status ObjectWriter::wait_for(size_t most) {
  while (in_flight_.size() > most) {
    Status s = in_flight_.front().get();
    in_flight_.pop_front();
    HONE_TRY(std::move(s));
  }
  return Ok{};
}

Status ObjectWriter::begin_upload() {
  if (!upload_) upload_ = HONE_TRY(bucket_.upload(key_, condition_));
  return Ok{};
}

Status ObjectWriter::send_gathered(bool last) {
  HONE_TRY(begin_upload());
  HONE_TRY(wait_for(static_cast<size_t>(bucket_.streams() - 1)));
  sum_ = crc32c(gathered_, sum_);
  const auto bytes = static_cast<int64_t>(gathered_.size());
  in_flight_.push_back(
      std::async(std::launch::async,
                 [u = upload_.get(), number = parts_, offset = sent_, last,
                  part = std::move(gathered_)] { return u->part(number, offset, part, last); }));
  gathered_ = {};
  ++parts_;
  sent_ += bytes;
  return Ok{};
}

Status ObjectWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (gathered_.empty() && size >= part_size()) {  // straight from memory
      HONE_TRY(begin_upload());
      HONE_TRY(wait_for(0));
      std::vector<int64_t> begins = {0};
      for (int64_t n = parts_; size - begins.back() >= bucket_.part_bytes(n); ++n)
        begins.push_back(begins.back() + bucket_.part_bytes(n));
      const auto count = static_cast<int64_t>(begins.size()) - 1;
      HONE_TRY(in_parallel(count, bucket_.streams(), [&](int64_t i) {
        const auto from = static_cast<size_t>(begins[static_cast<size_t>(i)]),
                   to = static_cast<size_t>(begins[static_cast<size_t>(i) + 1]);
        return upload_->part(parts_ + i, sent_ + static_cast<int64_t>(from),
                             bytes.subspan(from, to - from), false);
      }));
      parts_ += count;
      sum_ = crc32c(bytes.first(static_cast<size_t>(begins.back())), sum_);
      sent_ += begins.back();
      bytes = bytes.subspan(static_cast<size_t>(begins.back()));
      continue;
    }
    const auto room = static_cast<size_t>(part_size()) - gathered_.size();
    const auto some = bytes.first(std::min(bytes.size(), room));
    gathered_.insert(gathered_.end(), some.begin(), some.end());
    bytes = bytes.subspan(some.size());
    if (some.size() == room) HONE_TRY(send_gathered(false));
  }
  return Ok{};
}

Status ObjectWriter::commit() {
  if (!upload_) {
    written_ = HONE_TRY(bucket_.put(key_, gathered_, condition_));
    gathered_ = {};
    return Ok{};
  }
  if (!gathered_.empty()) HONE_TRY(send_gathered(true));
  HONE_TRY(wait_for(0));
  written_ = HONE_TRY(upload_->finish(sent_, sum_));
  return Ok{};
}

}  // namespace hone
