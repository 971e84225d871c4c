//! The meeting point of the processes on one data directory: a Unix-domain socket in it that only its owner may use. Deep
//! directories do not fit into a socket's address; there the way goes through an open handle of the directory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// LIMIT: the longest path that every Unix takes as a socket's address.
const ADDRESS_BYTES_MAX: usize = 100;

/// The socket's file.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("socket")
}

/// The socket's address, and what must stay open while it is used.
fn address(directory: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = path(directory);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((path, None));
    }
    if !cfg!(target_os = "linux") {
        let reason = "its path is too long for a socket, so that no other process can share it: name a shorter one";
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, reason));
    }
    let handle = File::open(directory)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/socket", handle.as_raw_fd()));
    Ok((path, Some(handle)))
}

/// Listens, in place of whoever listened before. Only for the holder of the lock.
pub(super) fn listen(directory: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let (address, _handle) = address(directory)?;
    private_listener(&address)
}

#[cfg(target_os = "linux")]
fn private_listener(address: &Path) -> io::Result<UnixListener> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Before it has a name, so that there is no moment in which others could use it.
    rustix::fs::fchmod(&socket, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(address)?)?;
    listen(&socket, 128)?;
    Ok(UnixListener::from(socket))
}

#[cfg(not(target_os = "linux"))]
fn private_listener(address: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    let listener = UnixListener::bind(address)?;
    std::fs::set_permissions(address, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects; neither this nor anything on the connection takes longer than `patience` without progress.
pub(super) fn connect(directory: &Path, patience: Duration) -> io::Result<UnixStream> {
    // None at all would mean for ever.
    let patience = patience.max(Duration::from_millis(1));
    let (address, _handle) = address(directory)?;
    let stream = patient_stream(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

#[cfg(target_os = "linux")]
fn patient_stream(address: &Path, patience: Duration) -> io::Result<UnixStream> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A stopped owner's queue fills up, and connecting would wait for ever.
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(address)?)?;
    Ok(UnixStream::from(socket))
}

#[cfg(not(target_os = "linux"))]
fn patient_stream(address: &Path, _patience: Duration) -> io::Result<UnixStream> {
    UnixStream::connect(address)
}

/// Whether the other end is this user's, or root's.
#[cfg(target_os = "linux")]
pub(super) fn is_ours(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == ours || peer.uid.is_root())
}

/// Whether the other end is this user's: the socket's own rights see to it.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_ours(_stream: &UnixStream) -> bool {
    true
}
