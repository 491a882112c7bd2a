//! A block server on one thread of tokio: clients request blocks over TCP, and the server reads them from an NVMe
//! controller. The reactor waits for the sockets and for the queue's interrupt together. The controller is
//! emulated; for a real one, use `VfioDevice::open`.
//!
//! ```text
//! cargo run --release -p joulio-nvme-async --example tokio
//! ```

use joulio_emulator::{EmulatedDevice, Options};
use joulio_model::DeviceProfile;
use joulio_nvme::wait::AnyPolicy;
use joulio_nvme::{Controller, ControllerOptions, Namespace, TrustedBuffer};
use joulio_nvme_async::{AsyncQueue, Driver};
use std::error::Error;
use std::net::SocketAddr;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes of a page, the unit that a client requests.
const PAGE: usize = 4096;
/// Number of clients, each with a connection, and number of pages that each requests.
const CLIENTS: u64 = 4;
const PAGES: u64 = 50;

/// Reaps completions for the futures of a queue: arms, waits together with the sockets, reaps.
async fn drive(driver: Driver<EmulatedDevice>) -> Result<()> {
    // SAFETY: the driver owns its descriptor, which stays the same.
    let mut driver = unsafe { AsyncFd::register(driver)? };
    while !driver.get_ref().is_closed() {
        if driver.get_mut().arm()? {
            driver.readable().await?.clear_ready();
        } else {
            tokio::task::yield_now().await;
        }
        driver.get_mut().reap(256)?;
    }
    Ok(())
}

/// Returns the number of blocks of a page on `namespace`.
fn blocks(namespace: &Namespace) -> u32 {
    PAGE as u32 / namespace.block_size()
}

/// Answers each page number with the page, until the client closes the connection.
async fn serve(
    mut stream: TcpStream,
    queue: AsyncQueue<EmulatedDevice>,
    namespace: Namespace,
    mut buffer: TrustedBuffer,
) -> Result<()> {
    while let Ok(page) = stream.read_u64_le().await {
        let lba = page * u64::from(blocks(&namespace));
        let read = queue.read(&namespace, lba, blocks(&namespace), buffer);
        buffer = TrustedBuffer::try_from(read.await?).map_err(|_| "the device is trusted")?;
        // Sent from the memory into which the device put the page.
        stream.write_all(&buffer).await?;
    }
    Ok(())
}

/// Requests pages; returns how many had their own number in every byte.
async fn client(server: SocketAddr, first: u64) -> Result<u64> {
    let mut stream = TcpStream::connect(server).await?;
    let (mut page, mut right) = (vec![0; PAGE], 0);
    for number in first..first + PAGES {
        stream.write_u64_le(number).await?;
        stream.read_exact(&mut page).await?;
        right += u64::from(page.iter().all(|&byte| byte == number as u8));
    }
    Ok(right)
}

async fn run() -> Result<()> {
    let profile = DeviceProfile::builtin("optane-900p")?;
    let device = EmulatedDevice::spawn(&Options::new(profile))?;
    let controller = Controller::open(device, ControllerOptions::default())?;
    let namespace = controller.namespace(1)?;
    let mut pair = controller.create_queue_pair(32)?;
    pair.set_policy(AnyPolicy::INTERRUPT)?;
    let queue = AsyncQueue::new(pair)?;
    let driver = tokio::spawn(drive(queue.driver()?));

    let mut buffers = controller.allocate_trusted(CLIENTS as usize, PAGE)?;
    let mut buffer = buffers.pop().ok_or("as many as were requested")?;
    for number in 0..CLIENTS * PAGES {
        buffer.fill(number as u8);
        let lba = number * u64::from(blocks(&namespace));
        let write = queue.write(&namespace, lba, blocks(&namespace), buffer);
        buffer = TrustedBuffer::try_from(write.await?).map_err(|_| "the device is trusted")?;
    }
    buffers.push(buffer);

    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let first = (0..CLIENTS).map(|index| index * PAGES);
    let clients: Vec<_> = first
        .map(|first| tokio::spawn(client(address, first)))
        .collect();
    let mut servers = Vec::new();
    for buffer in buffers {
        let (stream, _) = listener.accept().await?;
        servers.push(tokio::spawn(serve(
            stream,
            queue.clone(),
            namespace,
            buffer,
        )));
    }
    let mut right = 0;
    for client in clients {
        right += client.await??;
    }
    for server in servers {
        server.await??;
    }
    let counters = queue.counters();
    drop(queue);
    driver.await??;
    println!(
        "{CLIENTS} clients, {right} of {} pages right, {} interrupts",
        CLIENTS * PAGES,
        counters.interrupts
    );
    match right == CLIENTS * PAGES {
        true => Ok(()),
        false => Err("a page had another's bytes".into()),
    }
}

/// Runs the clients and their server on one thread.
pub fn main() -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_io().build()?.block_on(run())
}
