// SPDX-License-Identifier: MIT
//
// The servers of suite io with a task per connection on Tokio's single-threaded runtime.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn echo(mut connection: TcpStream) -> std::io::Result<()> {
    let mut buffer = [0u8; 1024];
    loop {
        let count = connection.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        connection.write_all(&buffer[..count]).await?;
    }
}

async fn discard(mut connection: TcpStream) -> std::io::Result<()> {
    let mut buffer = vec![0u8; 64 * 1024];
    let mut received = 0u64;
    loop {
        let count = connection.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        received += count as u64;
    }
    connection.write_all(format!("{received}\n").as_bytes()).await
}

async fn serve(streaming: bool) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        if streaming {
            tokio::spawn(discard(connection));
        } else {
            tokio::spawn(echo(connection));
        }
    }
}

fn main() -> std::io::Result<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    if kind != "echo" && kind != "stream" {
        eprintln!("usage: bench_tokio_server echo|stream");
        std::process::exit(64);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(serve(kind == "stream"))
}
