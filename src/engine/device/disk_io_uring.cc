// The DiskIo of io_uring, if hone was built with liburing and the kernel allows it.
#include <cerrno>
#include <cstring>

#include "engine/device/disk_io.h"

#ifdef HONE_HAVE_URING
#include <liburing.h>
#endif

namespace hone {

#ifdef HONE_HAVE_URING

namespace {

class UringIo : public DiskIo {
 public:
  UringIo() : error_(-io_uring_queue_init(kSlots, &ring_, 0)) {}
  ~UringIo() override {
    if (error_ == 0) io_uring_queue_exit(&ring_);
  }
  UringIo(const UringIo&) = delete;
  int error() const { return error_; }  // 0: none

  void begin(size_t slot, const DiskRequest& r) override {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    HONE_BUG_IF(!entry, "more requests than the ring has entries");
    const auto bytes = static_cast<unsigned>(r.bytes);
    const auto offset = static_cast<uint64_t>(r.offset);
    if (r.writes)
      io_uring_prep_write(entry, r.file, r.memory, bytes, offset);
    else
      io_uring_prep_read(entry, r.file, r.memory, bytes, offset);
    io_uring_sqe_set_data64(entry, slot);
    submit(0);
  }

  DiskResult finish_one() override {
    io_uring_cqe* done = nullptr;
    while (io_uring_peek_cqe(&ring_, &done) != 0) submit(1);
    const DiskResult result{static_cast<size_t>(io_uring_cqe_get_data64(done)), done->res};
    io_uring_cqe_seen(&ring_, done);
    return result;
  }

 private:
  // A refused request is submitted again with the next one.
  void submit(unsigned wait_for) {
    const int submitted = io_uring_submit_and_wait(&ring_, wait_for);
    HONE_BUG_IF(submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY,
                "io_uring refuses a request: {}", std::strerror(-submitted));
  }

  io_uring ring_{};
  int error_;
};

}  // namespace

std::string why_no_uring() {
  const int error = UringIo().error();
  return error == 0 ? "" : fmt::format("io_uring is not available here: {}", std::strerror(error));
}

std::unique_ptr<DiskIo> make_uring_io() {
  auto io = std::make_unique<UringIo>();
  if (io->error() != 0) return nullptr;
  return io;
}

#else

std::string why_no_uring() { return "hone was built without liburing"; }
std::unique_ptr<DiskIo> make_uring_io() { return nullptr; }

#endif

}  // namespace hone
